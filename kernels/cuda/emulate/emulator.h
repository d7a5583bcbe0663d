/* A launch on the CPU: the blocks one after the other, the threads of a block as fibers that switch at
   barriers and shuffles. Blocks and threads run in an order that changes from launch to launch and
   from barrier to barrier, so that what leans on an order shows. Shared memory starts as NaN.

   What a device would do silently ends the program with one line here: a barrier or a shuffle that
   some threads of the block or the warp do not come to, or come to in another line of the source, a
   write beside the shared memory, shared memory that was not asked for. */
#ifndef HC_KERNELS_CUDA_EMULATE_EMULATOR_H
#define HC_KERNELS_CUDA_EMULATE_EMULATOR_H

#include <stddef.h>

struct hc_emulator;

/* NULL when there is no memory. One launch at a time. */
struct hc_emulator *hc_emulator_new(void);
void hc_emulator_free(struct hc_emulator *emulator);

struct hc_grid {
    const char *name; /* of the kernel, for messages */
    void (*entry)(const void *args);
    int blocks;
    int threads;   /* 1 to HC_MAX_THREADS */
    size_t shared; /* bytes, up to HC_MAX_SHARED */
};

/* Runs the grid to its end. */
void hc_emulate(struct hc_emulator *emulator, const struct hc_grid *grid, const void *args);

#endif
