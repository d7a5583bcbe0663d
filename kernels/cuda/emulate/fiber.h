/* Fibers: stacks of their own, between which one thread of the CPU switches. */
#ifndef HC_KERNELS_CUDA_EMULATE_FIBER_H
#define HC_KERNELS_CUDA_EMULATE_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/* Who resumes fibers, and is come back to when they pause. */
struct hc_fiber_caller {
    ucontext_t context;
    void *fake_stack; /* of the address sanitizer */
};

struct hc_fiber {
    struct hc_fiber *next; /* in whatever list its owner keeps */
    ucontext_t context;
    struct hc_fiber_caller *caller; /* who resumed it */
    unsigned char *stack;
    void *fake_stack;
    const void *caller_stack; /* as the address sanitizer names it */
    size_t caller_size;
    void (*run)(void);
};

/* A fiber that will run `run`, which never returns; NULL when there is no memory. */
struct hc_fiber *hc_fiber_new(void (*run)(void));
void hc_fiber_free(struct hc_fiber *fiber);

/* Runs the fiber until it pauses. Whether it stayed within its stack. */
bool hc_fiber_resume(struct hc_fiber *fiber, struct hc_fiber_caller *caller);
void hc_fiber_pause(struct hc_fiber *fiber);

#endif
