/* The launch in progress, which emulator.c runs and which the calls of a kernel see
   (intrinsics.c). */
#ifndef HC_KERNELS_CUDA_EMULATE_INNER_H
#define HC_KERNELS_CUDA_EMULATE_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/emulate/fiber.h"
#include "kernels/cuda/emulate/fault.h"
#include "kernels/cuda/emulate/shared_memory.h"
#include "kernels/cuda/emulate/watch.h"
#include "kernels/cuda/launch.h"

/* A call in the source of a kernel. */
struct hc_site {
    const char *file;
    int line;
};
bool hc_same_site(struct hc_site a, struct hc_site b);

enum hc_thread_state { HC_FRESH, HC_READY, HC_AT_SYNC, HC_AT_SHUFFLE, HC_ENDED };

struct hc_emulated_thread {
    enum hc_thread_state state;
    struct hc_fiber *fiber; /* where it waits */
    struct hc_site site;    /* the call that it waits in */
    float value;            /* given to a shuffle, then received from it */
    int delta;
};

struct hc_emulator {
    const struct hc_grid *grid;
    const void *args;
    int block;
    int current; /* the thread that runs */
    int started;
    uint32_t order; /* changes with each launch, block and barrier */
    struct hc_fiber_caller caller;
    struct hc_fiber *fiber; /* the one that runs */
    struct hc_fiber *idle;
    struct hc_emulated_thread thread[HC_MAX_THREADS];
    struct hc_shared_memory shared;
    struct hc_watcher *watcher; /* or NULL */
    bool stopped;               /* by the watcher */
};

/* The emulator whose launch this thread of the CPU runs; NULL: none. */
extern _Thread_local struct hc_emulator *hc_running;

/* Ends the program with a line that names the kernel and the block. */
_Noreturn void hc_emulator_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The kernel's fault, or NULL. */
const struct hc_emulated_fault *hc_emulated_fault_of(const char *kernel);

/* Whether the kernel has a fault of this kind; whether its fault leaves out the hc_sync at this
   site. */
bool hc_emulated_fault_is(const char *kernel, enum hc_emulated_fault_kind kind);
bool hc_emulated_fault_skips(const char *kernel, struct hc_site site);

#endif
