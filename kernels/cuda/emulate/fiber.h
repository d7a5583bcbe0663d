/* Fibers: stacks of their own, between which one thread of the CPU switches. */
#ifndef HC_KERNELS_CUDA_EMULATE_FIBER_H
#define HC_KERNELS_CUDA_EMULATE_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct hc_fiber {
    struct hc_fiber *next; /* in whatever list its owner keeps */
    ucontext_t context;
    ucontext_t *home; /* who resumed it */
    unsigned char *stack;
};

/* A fiber that will run `run`, which never returns; NULL when there is no memory. */
struct hc_fiber *hc_fiber_new(void (*run)(void));
void hc_fiber_free(struct hc_fiber *fiber);

/* Runs the fiber until it pauses. Whether it stayed within its stack. */
bool hc_fiber_resume(struct hc_fiber *fiber, ucontext_t *home);
void hc_fiber_pause(struct hc_fiber *fiber);

#endif
