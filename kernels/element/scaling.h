/* axpy, scale and unscale on one element, in the working format; the caller rounds into the
   output. */
#ifndef HC_KERNELS_ELEMENT_SCALING_H
#define HC_KERNELS_ELEMENT_SCALING_H

#include "kernels/element/number.h"
#include "num/bits.h"

HC_INLINE hc_number hc_element_axpy(hc_number alpha, hc_number x, hc_number y)
{
    return hc_fma(alpha, x, y);
}

HC_INLINE hc_number hc_element_scale(hc_number x, hc_number s)
{
    return x * s;
}

/* 1/s in fp64, rounded to fp32: the factor of unscale with its parameter `reciprocal`. */
HC_INLINE float hc_unscale_reciprocal(float s)
{
    return (float)(1.0 / (double)s);
}

/* `factor` is s, or with `reciprocal` what hc_unscale_reciprocal gives. */
HC_INLINE hc_number hc_element_unscale(int reciprocal, hc_number x, hc_number factor)
{
    return reciprocal ? x * factor : x / factor;
}

/* Whether x is infinite or NaN. */
HC_INLINE int hc_is_nonfinite(float x)
{
    return (hc_fp32_bits(x) & 0x7f800000u) == 0x7f800000u;
}

#endif
