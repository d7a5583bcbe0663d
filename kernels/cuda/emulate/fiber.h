/* Fibers: functions with stacks of their own, between which one thread of the CPU switches. */
#ifndef HC_KERNELS_CUDA_EMULATE_FIBER_H
#define HC_KERNELS_CUDA_EMULATE_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

enum { HC_FIBER_STACK = 128 * 1024 }; /* bytes */

/* The code that resumes a fiber, and that runs again when the fiber pauses. */
struct hc_fiber_caller {
    ucontext_t context;
    void *fake_stack; /* of the address sanitizer, while the fiber runs */
};

struct hc_fiber {
    struct hc_fiber *next; /* for a list of its owner */
    ucontext_t context;
    struct hc_fiber_caller *caller; /* who resumed it */
    unsigned char *stack;
    void *fake_stack;
    const void *caller_stack; /* as the address sanitizer names it */
    size_t caller_size;
    void (*run)(void);
};

/* A fiber that will call `run`, which must not return. NULL when there is no memory. */
struct hc_fiber *hc_fiber_new(void (*run)(void));
void hc_fiber_free(struct hc_fiber *fiber);

/* Runs the fiber until it pauses. Returns whether it stayed within its stack. */
bool hc_fiber_resume(struct hc_fiber *fiber, struct hc_fiber_caller *caller);
void hc_fiber_pause(struct hc_fiber *fiber);

#endif
