/* Elements of rates, step_log and clip, by their contracts (op/control.h). */
#ifndef HC_KERNELS_ELEMENT_CONTROL_H
#define HC_KERNELS_ELEMENT_CONTROL_H

#include <math.h>
#include <stdint.h>

#include "num/inline.h"
#include "op/control.h"
#include "op/counts.h"
#include "op/optimizer.h"

/* hyper[i] of the step that `counts` has reached, from a table of `rows` >= 1 rows. */
HC_INLINE float hc_element_rates(const float *table, int64_t rows, const int32_t *counts, int i)
{
    int64_t row = counts[HC_COUNT_STEPS];
    if (i == HC_HYPER_STEP)
        return (float)((int64_t)counts[HC_COUNT_TAKEN] + 1);
    return table[HC_TABLE_COLUMNS * (row < rows ? row : rows - 1) + i];
}

/* The factor that clips gradients to the norm max_norm; 1 after an overflow. */
HC_INLINE float hc_element_clip(float sum_squares, float max_norm, int overflowed)
{
    float reciprocal = 1 / (sqrtf(sum_squares) + 1e-6F);
    float factor = reciprocal * max_norm;
    return overflowed || factor > 1 ? 1 : factor;
}

/* Element i of a step log of `rows` >= 1 rows after this step, whose row takes the scalars; an
   absent scalar is NULL and counts as 0. `before` is the element before the step. */
HC_INLINE float hc_element_step_log(float before, const float *const *scalar, int64_t rows,
                                    const int32_t *counts, int64_t i)
{
    const float *from = scalar[i % HC_STEP_LOG_COLUMNS];
    if (i / HC_STEP_LOG_COLUMNS != counts[HC_COUNT_STEPS] % rows)
        return before;
    return from ? *from : 0;
}

#endif
