/* rates and journal: the state of the training engine, by the step's number; clip. */
#ifndef HC_KERNELS_ELEMENT_CONTROL_H
#define HC_KERNELS_ELEMENT_CONTROL_H

#include <math.h>
#include <stdint.h>

#include "num/inline.h"
#include "op/counts.h"

/* hyper[i] from a table of `rows` >= 1 rows of two. */
HC_INLINE float hc_element_rates(const float *table, int64_t rows, const int32_t *counts, int i)
{
    int64_t row = counts[HC_COUNT_STEPS];
    if (i == 2)
        return (float)((int64_t)counts[HC_COUNT_TAKEN] + 1);
    return table[2 * (row < rows ? row : rows - 1) + i];
}

/* What clips gradients whose squares' sum is s to the norm `most`. */
HC_INLINE float hc_element_clip(float s, float most, int held)
{
    float reciprocal = 1 / (sqrtf(s) + 1e-6F);
    float factor = reciprocal * most;
    return held || factor > 1 ? 1 : factor;
}

/* Element i of a journal of `rows` >= 1 rows of four, of which this step has one; `was` is what stood
   there. An absent scalar is NULL. */
HC_INLINE float hc_element_step_log(float was, const float *const *scalar, int64_t rows,
                                    const int32_t *counts, int64_t i)
{
    if (i / 4 != counts[HC_COUNT_STEPS] % rows)
        return was;
    return scalar[i % 4] ? *scalar[i % 4] : 0;
}

#endif
