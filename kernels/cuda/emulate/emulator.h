/* A launch of a device kernel on the CPU, to find errors in its text without a GPU.

   The blocks run one after the other. The threads of a block are fibers: a thread runs until it
   comes to a barrier or a shuffle, then another one runs. When all have come, the emulator checks
   that they came to the same line of the source, exchanges the values of a shuffle, and lets them
   go on. A thread that never waits costs no switch.

   A kernel must not depend on an order of threads. The order therefore changes from block to block
   and from barrier to barrier: forwards or backwards from any of them on. Shared memory is filled
   with NaN, so that a value read before it is written shows in the results.

   Errors that a device would pass over in silence end the program with one line here: a barrier or
   a shuffle that some threads of the block or warp do not come to, or come to in another line; a
   write beside the shared memory; shared memory that the launch did not ask for. Whoever
   watches (watch.h) sees the launches, barriers and atomic operations; kernels/cuda/shadow finds
   races so. The emulation says nothing about speed. */
#ifndef HC_KERNELS_CUDA_EMULATE_EMULATOR_H
#define HC_KERNELS_CUDA_EMULATE_EMULATOR_H

#include <stddef.h>

struct hc_emulator;
struct hc_watcher; /* watch.h */

/* NULL when there is no memory. An emulator runs one launch at a time. */
struct hc_emulator *hc_emulator_new(void);
void hc_emulator_free(struct hc_emulator *emulator);

/* Who watches its launches; NULL: nobody, as in the beginning. */
void hc_emulator_watch(struct hc_emulator *emulator, struct hc_watcher *watcher);
struct hc_watcher *hc_emulator_watcher(const struct hc_emulator *emulator);

struct hc_grid {
    const char *name; /* of the kernel, for messages */
    void (*entry)(const void *args);
    int blocks;
    int threads;   /* 1 to HC_MAX_THREADS */
    size_t shared; /* bytes, up to HC_MAX_SHARED */
    size_t args_size;
};

/* Runs the grid to its end. */
void hc_emulate(struct hc_emulator *emulator, const struct hc_grid *grid, const void *args);

#endif
