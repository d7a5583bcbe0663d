#include "kernels/cuda/emulate/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The address sanitizer has to be told of each switch (sanitizer/common_interface_defs.h). Its own
   swapcontext only warns, so that libc's is called instead. */
#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <sanitizer/common_interface_defs.h>

static void swap(ucontext_t *from, const ucontext_t *to)
{
    static union {
        void *symbol;
        int (*function)(ucontext_t *, const ucontext_t *);
    } plain;
    if (!plain.symbol)
        plain.symbol = dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "swapcontext");
    (void)plain.function(from, to);
}

static void leave(void **fake_stack, const void *stack, size_t size)
{
    __sanitizer_start_switch_fiber(fake_stack, stack, size);
}

static void arrive(void *fake_stack, struct hc_fiber *fiber)
{
    __sanitizer_finish_switch_fiber(fake_stack, fiber ? &fiber->caller_stack : NULL,
                                    fiber ? &fiber->caller_size : NULL);
}
#else
static void swap(ucontext_t *from, const ucontext_t *to)
{
    (void)swapcontext(from, to);
}

static void leave(void **fake_stack, const void *stack, size_t size)
{
    (void)fake_stack;
    (void)stack;
    (void)size;
}

static void arrive(void *fake_stack, struct hc_fiber *fiber)
{
    (void)fake_stack;
    (void)fiber;
}
#endif

static const uint64_t canary = 0x5ca1ab1eca5cade5;

static _Thread_local struct hc_fiber *beginning;

static void begin(void)
{
    struct hc_fiber *fiber = beginning;
    arrive(NULL, fiber);
    fiber->run();
}

static bool prepare(ucontext_t *context, unsigned char *stack)
{
    if (!stack || getcontext(context) != 0)
        return false;
    memcpy(stack, &canary, sizeof canary);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = HC_FIBER_STACK;
    makecontext(context, begin, 0);
    return true;
}

struct hc_fiber *hc_fiber_new(void (*run)(void))
{
    struct hc_fiber *fiber = calloc(1, sizeof *fiber);
    if (!fiber)
        return NULL;
    fiber->run = run;
    fiber->stack = aligned_alloc(64, HC_FIBER_STACK);
    if (prepare(&fiber->context, fiber->stack))
        return fiber;
    hc_fiber_free(fiber);
    return NULL;
}

void hc_fiber_free(struct hc_fiber *fiber)
{
    free(fiber->stack);
    free(fiber);
}

bool hc_fiber_resume(struct hc_fiber *fiber, struct hc_fiber_caller *caller)
{
    fiber->caller = caller;
    beginning = fiber;
    leave(&caller->fake_stack, fiber->stack, HC_FIBER_STACK);
    swap(&caller->context, &fiber->context);
    arrive(caller->fake_stack, NULL);
    return memcmp(fiber->stack, &canary, sizeof canary) == 0;
}

void hc_fiber_pause(struct hc_fiber *fiber)
{
    leave(&fiber->fake_stack, fiber->caller_stack, fiber->caller_size);
    swap(&fiber->context, &fiber->caller->context);
    arrive(fiber->fake_stack, fiber);
}
