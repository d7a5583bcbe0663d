/* axpy, scale and unscale: fp32 on the inputs' values; the caller rounds into the output. */
#ifndef HC_KERNELS_ELEMENT_SCALING_H
#define HC_KERNELS_ELEMENT_SCALING_H

#include <math.h>

#include "num/bits.h"

HC_INLINE float hc_element_axpy(float alpha, float x, float y)
{
    return fmaf(alpha, x, y);
}

HC_INLINE float hc_element_scale(float x, float s)
{
    return x * s;
}

/* 1/s in fp64, rounded to fp32: what unscale multiplies with when its parameter `reciprocal` is
 * set. */
HC_INLINE float hc_unscale_reciprocal(float s)
{
    return (float)(1.0 / (double)s);
}

/* `by` is s, or with `reciprocal` what hc_unscale_reciprocal gives. */
HC_INLINE float hc_element_unscale(int reciprocal, float x, float by)
{
    return reciprocal ? x * by : x / by;
}

/* Whether x is infinite or NaN. */
HC_INLINE int hc_is_nonfinite(float x)
{
    return (hc_fp32_bits(x) & 0x7f800000u) == 0x7f800000u;
}

#endif
