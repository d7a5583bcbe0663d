/* Bits and values of fp32, fp16, bf16 and tf32: the conversions that kernels use, the same code on
   host and device. hc_encode is their definition. num/bits_test.c and the rounding cases
   compare them with it and with MPFR. */
#ifndef HC_NUM_BITS_H
#define HC_NUM_BITS_H

#include <stdint.h>
#include <string.h>

#include "num/inline.h"

HC_INLINE uint32_t hc_fp32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

HC_INLINE float hc_fp32_value(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

HC_INLINE uint64_t hc_fp64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

HC_INLINE double hc_fp64_value(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Exact. A NaN keeps its sign and the top of its payload. */
HC_INLINE float hc_fp16_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u)
        return hc_fp32_value(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13 |
                             (magnitude > 0x7c00u ? 0x400000u : 0));
    if (magnitude >= 0x400u)
        return hc_fp32_value(sign | ((magnitude << 13) + 0x38000000u));
    /* A subnormal is an integer number of 2^-24: the product is exact. */
    float value = (float)magnitude * 5.9604644775390625e-8f;
    return hc_fp32_value(sign | hc_fp32_bits(value));
}

HC_INLINE float hc_bf16_value(uint16_t b)
{
    return hc_fp32_value((uint32_t)b << 16);
}

/* Rounds to nearest, ties to even: from 65520 on to infinity, 2^-25 to 0. Every NaN becomes quiet
   and keeps its sign and the top of its payload. */
HC_INLINE uint16_t hc_fp16_bits(float x)
{
    uint32_t bits = hc_fp32_bits(x);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
    if (magnitude >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {
        /* Adding 0.5 puts fp16's last bit, 2^-24, at fp32's last bit: fp32 rounds as fp16 does. */
        float shifted = hc_fp32_value(magnitude) + 0.5f;
        return (uint16_t)(sign | (hc_fp32_bits(shifted) - 0x3f000000u));
    }
    uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | (magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

/* Rounds to nearest, ties to even. Every NaN becomes quiet. */
HC_INLINE uint16_t hc_bf16_bits(float x)
{
    uint32_t bits = hc_fp32_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* hc_fp16_value(hc_fp16_bits(x)) and hc_bf16_value(hc_bf16_bits(x)), but for NaN's payload. They
   have no branch, so that loops over them become vectors. */
HC_INLINE float hc_fp16_round(float x)
{
    uint32_t bits = hc_fp32_bits(x);
    uint32_t sign = bits & 0x80000000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u)) & ~0x1fffu;
    /* The last bit of 0.5 is 2^-24, as in hc_fp16_bits; the difference is exact. */
    float subnormal = (hc_fp32_value(magnitude) + 0.5f) - 0.5f;
    uint32_t rounded = magnitude < 0x38800000u ? hc_fp32_bits(subnormal) : normal;
    rounded = magnitude >= 0x477ff000u ? 0x7f800000u : rounded;
    rounded = magnitude > 0x7f800000u ? magnitude | 0x400000u : rounded;
    return hc_fp32_value(sign | rounded);
}

HC_INLINE float hc_bf16_round(float x)
{
    uint32_t bits = hc_fp32_bits(x);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    return hc_fp32_value((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded);
}

/* Rounds to the nearest tf32 number, ties to even. Every NaN becomes quiet. */
HC_INLINE float hc_tf32_round(float x)
{
    uint32_t bits = hc_fp32_bits(x);
    uint32_t rounded = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
    return hc_fp32_value((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded);
}

#endif
