/* Comparisons of floats, and conversions, in PTX. */
#ifndef HC_KERNELS_CUDA_PTX_CONVERSIONS_H
#define HC_KERNELS_CUDA_PTX_CONVERSIONS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cuda/ptx/floats.h"
#include "num/bits.h"

/* Comparison and Selection Instructions, Floating Point Comparisons: each is false where an operand
   is NaN. With the letter u it is true there, which table.py says with hc_ptx_nan. */
static inline bool hc_ptx_eq_f32(uint32_t a, uint32_t b)
{
    return hc_fp32_value(a) == hc_fp32_value(b);
}

static inline bool hc_ptx_lt_f32(uint32_t a, uint32_t b)
{
    return hc_fp32_value(a) < hc_fp32_value(b);
}

static inline bool hc_ptx_le_f32(uint32_t a, uint32_t b)
{
    return hc_fp32_value(a) <= hc_fp32_value(b);
}

static inline bool hc_ptx_gt_f32(uint32_t a, uint32_t b)
{
    return hc_fp32_value(a) > hc_fp32_value(b);
}

static inline bool hc_ptx_ge_f32(uint32_t a, uint32_t b)
{
    return hc_fp32_value(a) >= hc_fp32_value(b);
}

static inline bool hc_ptx_nan_f32(uint32_t a, uint32_t b)
{
    return isnan(hc_fp32_value(a)) || isnan(hc_fp32_value(b));
}

static inline bool hc_ptx_eq_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_value(a) == hc_fp64_value(b);
}

static inline bool hc_ptx_lt_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_value(a) < hc_fp64_value(b);
}

static inline bool hc_ptx_le_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_value(a) <= hc_fp64_value(b);
}

static inline bool hc_ptx_gt_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_value(a) > hc_fp64_value(b);
}

static inline bool hc_ptx_ge_f64(uint64_t a, uint64_t b)
{
    return hc_fp64_value(a) >= hc_fp64_value(b);
}

static inline bool hc_ptx_nan_f64(uint64_t a, uint64_t b)
{
    return isnan(hc_fp64_value(a)) || isnan(hc_fp64_value(b));
}

/* Data Movement and Conversion Instructions, cvt. Into a half format, NaN is 0x7fff. */
static inline uint32_t hc_ptx_f32_of_u64(uint64_t x)
{
    return hc_fp32_bits((float)x);
}

static inline uint32_t hc_ptx_f32_of_s64(int64_t x)
{
    return hc_fp32_bits((float)x);
}

static inline uint64_t hc_ptx_f64_of_u64(uint64_t x)
{
    return hc_fp64_bits((double)x);
}

static inline uint64_t hc_ptx_f64_of_s64(int64_t x)
{
    return hc_fp64_bits((double)x);
}

static inline uint32_t hc_ptx_cvt_rn_f32_f64(uint64_t a)
{
    return hc_ptx_f32((float)hc_fp64_value(a));
}

static inline uint64_t hc_ptx_cvt_f64_f32(uint32_t a)
{
    return hc_fp64_bits((double)hc_fp32_value(a));
}

static inline uint16_t hc_ptx_cvt_rn_f16_f32(uint32_t a)
{
    float x = hc_fp32_value(a);
    return x != x ? 0x7fff : hc_fp16_bits(x);
}

static inline uint16_t hc_ptx_cvt_rn_bf16_f32(uint32_t a)
{
    float x = hc_fp32_value(a);
    return x != x ? 0x7fff : hc_bf16_bits(x);
}

static inline uint32_t hc_ptx_cvt_f32_f16(uint16_t a)
{
    return hc_ptx_f32(hc_fp16_value(a));
}

static inline uint32_t hc_ptx_cvt_f32_bf16(uint16_t a)
{
    return hc_ptx_f32(hc_bf16_value(a));
}

/* Into an integer: what lies beyond it becomes its nearest number; NaN becomes 0 from fp32 to 32
   bits, and 2^63 as an int64_t's bits where either has 64. */
static inline uint32_t hc_ptx_cvt_rzi_u32_f32(uint32_t a)
{
    float x = hc_fp32_value(a);
    return x >= 0x1p32f ? UINT32_MAX : x > 0 ? (uint32_t)x : 0;
}

static inline uint32_t hc_ptx_cvt_rzi_s32_f32(uint32_t a)
{
    float x = hc_fp32_value(a);
    int32_t inside = x > -0x1p31f && x < 0x1p31f ? (int32_t)x : 0;
    return (uint32_t)(x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : inside);
}

static inline uint64_t hc_ptx_cvt_rzi_s64_f64(uint64_t a)
{
    double x = hc_fp64_value(a);
    return (uint64_t)(x >= 0x1p63 ? INT64_MAX : x > -0x1p63 ? (int64_t)x : INT64_MIN);
}

/* The largest integer that is not above. */
static inline uint64_t hc_ptx_cvt_rmi_f64_f64(uint64_t a)
{
    return hc_fp64_bits(floor(hc_fp64_value(a)));
}

/* Into [0, 1]; NaN becomes +0. */
static inline uint32_t hc_ptx_cvt_sat_f32_f32(uint32_t a)
{
    float x = hc_fp32_value(a);
    return hc_fp32_bits(x > 1 ? 1 : x > 0 ? x : 0);
}

#endif
