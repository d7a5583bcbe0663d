#include "kernels/cuda/emulate/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 128 * 1024 };

static const uint64_t canary = 0x5ca1ab1eca5cade5;

static bool prepare(ucontext_t *context, unsigned char *stack, void (*run)(void))
{
    if (!stack || getcontext(context) != 0)
        return false;
    memcpy(stack, &canary, sizeof canary);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = STACK;
    makecontext(context, run, 0);
    return true;
}

struct hc_fiber *hc_fiber_new(void (*run)(void))
{
    struct hc_fiber *fiber = calloc(1, sizeof *fiber);
    if (!fiber)
        return NULL;
    fiber->stack = aligned_alloc(64, STACK);
    if (prepare(&fiber->context, fiber->stack, run))
        return fiber;
    hc_fiber_free(fiber);
    return NULL;
}

void hc_fiber_free(struct hc_fiber *fiber)
{
    free(fiber->stack);
    free(fiber);
}

bool hc_fiber_resume(struct hc_fiber *fiber, ucontext_t *home)
{
    fiber->home = home;
    (void)swapcontext(home, &fiber->context);
    return memcmp(fiber->stack, &canary, sizeof canary) == 0;
}

void hc_fiber_pause(struct hc_fiber *fiber)
{
    (void)swapcontext(&fiber->context, fiber->home);
}
