/* A kernel that leaves another rounding direction set, or subnormal numbers flushed to zero, has
   changed everything that runs after it: the references, the backend that it is compared with, and
   the other kernels of the thread, which then agree on what is wrong. */
#include "check/float_state.h"

#include <fenv.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether subnormal numbers are flushed: found by computing with them, since C has no name for the
   flag. */
static bool flushes(void)
{
    volatile float least_normal = 0x1p-126f;
    volatile float least = 0x1p-149f;
    volatile float half = 0.5f;
    volatile float large = 0x1p100f;
    return !(least_normal * half > 0) || !(least * large > 0);
}

const char *hc_float_state_reset(void)
{
    const char *left = NULL;
    if (flushes())
        left = "subnormal numbers flushed to zero";
    if (fegetround() != FE_TONEAREST)
        left = "another rounding than to nearest";
    if (left)
        (void)fesetenv(FE_DFL_ENV);
    return left;
}

const char *hc_float_state_reset_all(void)
{
    const char *left = NULL;
#pragma omp parallel
    {
        const char *here = hc_float_state_reset();
#pragma omp critical(hc_float_state)
        left = here ? here : left;
    }
    return left;
}
