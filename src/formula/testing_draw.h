/* Numbers for tests that draw their operands: the same in every run. */
#ifndef HC_FORMULA_TESTING_DRAW_H
#define HC_FORMULA_TESTING_DRAW_H

#include <stdint.h>

/* In [0, 1). */
static inline double hc_draw_uniform(void)
{
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static inline int hc_draw_between(int low, int high)
{
    return low + (int)(hc_draw_uniform() * (high - low + 1));
}

#endif
