/* A kernel, or a library at its loading, that leaves another rounding direction set, or subnormal
   numbers flushed to zero, has changed everything that runs after it: the references, the backend
   that it is compared with, and the other kernels of the thread, which then agree on what is
   wrong. */
#include "num/float_state.h"

#include <fenv.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

/* Whoever is named works without it from here on, so that what is judged is not quite what runs
   elsewhere: it is said even where all else is quiet. */
void hc_float_state_undo(const char *who, const char *when)
{
    const char *left = hc_float_state_reset();
    if (left)
        (void)fprintf(
            stderr,
            "%s leaves %s when it is %s, for the whole thread; halfcheck has undone that, "
            "and judges without it (-ffast-math links it in)\n",
            who, left, when);
}
