/* The arithmetic of floats in PTX (PTX ISA, Floating Point Instructions). A float is its bits.

   PTX leaves the NaN of a single-precision instruction open; devices give 0x7fffffff, which stands
   here. An fp64 instruction keeps an operand's payload, as the CPU does. */
#ifndef HC_KERNELS_CUDA_PTX_FLOATS_H
#define HC_KERNELS_CUDA_PTX_FLOATS_H

#include <math.h>
#include <stdint.h>

#include "num/bits.h"

static inline uint32_t hc_ptx_f32(float x)
{
    return x != x ? 0x7fffffffu : hc_fp32_bits(x);
}

static inline uint32_t hc_ptx_add_rn_f32(uint32_t a, uint32_t b)
{
    return hc_ptx_f32(hc_fp32_value(a) + hc_fp32_value(b));
}

static inline uint32_t hc_ptx_sub_rn_f32(uint32_t a, uint32_t b)
{
    return hc_ptx_f32(hc_fp32_value(a) - hc_fp32_value(b));
}

static inline uint32_t hc_ptx_mul_rn_f32(uint32_t a, uint32_t b)
{
    return hc_ptx_f32(hc_fp32_value(a) * hc_fp32_value(b));
}

static inline uint32_t hc_ptx_div_rn_f32(uint32_t a, uint32_t b)
{
    return hc_ptx_f32(hc_fp32_value(a) / hc_fp32_value(b));
}

static inline uint32_t hc_ptx_rcp_rn_f32(uint32_t a)
{
    return hc_ptx_f32(1 / hc_fp32_value(a));
}

static inline uint32_t hc_ptx_sqrt_rn_f32(uint32_t a)
{
    return hc_ptx_f32(sqrtf(hc_fp32_value(a)));
}

static inline uint32_t hc_ptx_fma_rn_f32(uint32_t a, uint32_t b, uint32_t c)
{
    return hc_ptx_f32(fmaf(hc_fp32_value(a), hc_fp32_value(b), hc_fp32_value(c)));
}

/* Rounded downwards. In fp64 the product is exact, and Knuth's two-sum gives the sum as high + low
   without an error (fp64 has room for every exponent). The nearest fp32 number of high is the
   result or the next above it: it is away from high by at most half an fp32 step, and low is less
   than half an fp64 step. An exact zero of terms with two signs is -0. */
static inline uint32_t hc_ptx_fma_rm_f32(uint32_t a, uint32_t b, uint32_t c)
{
    double product = (double)hc_fp32_value(a) * (double)hc_fp32_value(b);
    double term = (double)hc_fp32_value(c);
    double high = product + term;
    if (high != high || isinf(high))
        return hc_ptx_f32((float)high);
    if (high == 0)
        return signbit(product) || signbit(term) ? 0x80000000u : 0;
    double part = high - product;
    double low = (product - (high - part)) + (term - part);
    float nearest = (float)high;
    if ((double)nearest - high > low)
        nearest = nextafterf(nearest, -INFINITY);
    return hc_ptx_f32(nearest);
}

/* neg and abs: the sign bit alone; of a NaN the ISA leaves the result open. */
static inline uint32_t hc_ptx_neg_f32(uint32_t a)
{
    return hc_ptx_f32(-hc_fp32_value(a));
}

static inline uint32_t hc_ptx_abs_f32(uint32_t a)
{
    return hc_ptx_f32(fabsf(hc_fp32_value(a)));
}

/* copysign d, a, b: the sign of a, the rest of b. */
static inline uint32_t hc_ptx_copysign_f32(uint32_t a, uint32_t b)
{
    return (a & 0x80000000u) | (b & 0x7fffffffu);
}

/* min and max: a NaN gives way to a number; -0 is less than +0. */
static inline uint32_t hc_ptx_min_f32(uint32_t a, uint32_t b)
{
    float x = hc_fp32_value(a);
    float y = hc_fp32_value(b);
    if (x != x || y != y)
        return hc_ptx_f32(x != x ? y : x);
    return x < y || (x == y && signbit(x)) ? a : b;
}

static inline uint32_t hc_ptx_max_f32(uint32_t a, uint32_t b)
{
    float x = hc_fp32_value(a);
    float y = hc_fp32_value(b);
    if (x != x || y != y)
        return hc_ptx_f32(x != x ? y : x);
    return x > y || (x == y && !signbit(x)) ? a : b;
}

/* ex2.approx.ftz.f32: the ISA promises 2 ulp, and subnormals become zeros. Here stands the nearest
   number to 2^x, so that a device's own bits are not shown. Where 2^x is no number itself, it is
   hc_ptx_ex2_off ulp above or below, as the last bit of x says: a test tries what the promise
   allows. (exp2 of fp64 lies within an ulp of fp64, so that one result in 2^28 or so may be the
   other neighbour.) */
extern int hc_ptx_ex2_off;

static inline uint32_t hc_ptx_ex2_approx_ftz_f32(uint32_t a)
{
    float x = hc_fp32_value(a);
    float power = (float)exp2((double)x);
    if (fabsf(power) < 0x1p-126f)
        return 0;
    if (x - floorf(x) > 0)
        return hc_fp32_bits(power) + (uint32_t)(a & 1 ? hc_ptx_ex2_off : -hc_ptx_ex2_off);
    return hc_ptx_f32(power);
}

/* rcp.approx.ftz.f32: the ISA promises 1 ulp, and subnormals become zeros. Here stands the nearest
   number to 1 / x; where that is no number itself, it is an ulp above or below if ex2.approx is
   off. */
static inline uint32_t hc_ptx_rcp_approx_ftz_f32(uint32_t a)
{
    float x = hc_fp32_value(a);
    x = fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
    float y = 1 / x;
    if (fabsf(y) < 0x1p-126f)
        return hc_fp32_bits(copysignf(0, y));
    if (isfinite(y) && fmaf(x, y, -1) != 0 && hc_ptx_ex2_off)
        return hc_fp32_bits(y) + (a & 1 ? 1u : ~0u);
    return hc_ptx_f32(y);
}

static inline uint64_t hc_ptx_add_rn_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_bits(hc_fp64_value(a) + hc_fp64_value(b));
}

static inline uint64_t hc_ptx_sub_rn_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_bits(hc_fp64_value(a) - hc_fp64_value(b));
}

static inline uint64_t hc_ptx_mul_rn_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_bits(hc_fp64_value(a) * hc_fp64_value(b));
}

static inline uint64_t hc_ptx_div_rn_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_bits(hc_fp64_value(a) / hc_fp64_value(b));
}

static inline uint64_t hc_ptx_rcp_rn_f64(uint64_t a)
{
    return hc_fp64_bits(1 / hc_fp64_value(a));
}

static inline uint64_t hc_ptx_sqrt_rn_f64(uint64_t a)
{
    return hc_fp64_bits(sqrt(hc_fp64_value(a)));
}

static inline uint64_t hc_ptx_fma_rn_f64(uint64_t a, uint64_t b, uint64_t c)
{
    return hc_fp64_bits(fma(hc_fp64_value(a), hc_fp64_value(b), hc_fp64_value(c)));
}

static inline uint64_t hc_ptx_neg_f64(uint64_t a)
{
    return a ^ UINT64_C(1) << 63;
}

static inline uint64_t hc_ptx_abs_f64(uint64_t a)
{
    return a & ~(UINT64_C(1) << 63);
}

static inline uint64_t hc_ptx_copysign_f64(uint64_t a, uint64_t b)
{
    return (a & UINT64_C(1) << 63) | (b & ~(UINT64_C(1) << 63));
}

static inline uint64_t hc_ptx_min_f64(uint64_t a, uint64_t b)
{
    double x = hc_fp64_value(a);
    double y = hc_fp64_value(b);
    if (x != x || y != y)
        return x != x ? b : a;
    return x < y || (x == y && signbit(x)) ? a : b;
}

static inline uint64_t hc_ptx_max_f64(uint64_t a, uint64_t b)
{
    double x = hc_fp64_value(a);
    double y = hc_fp64_value(b);
    if (x != x || y != y)
        return x != x ? b : a;
    return x > y || (x == y && !signbit(x)) ? a : b;
}

#endif
