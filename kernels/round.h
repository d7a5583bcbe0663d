/* Rounding into a working format: what every intermediate result of an op with 16-bit arithmetic
   goes through, and every coefficient once.

   Rounding to odd (keep an exact value; of the two neighbours of an inexact one take that whose
   last bit is 1) makes a second rounding innocuous: the odd bit stands for "something followed", so
   rounding on to nearest in p bits is right as long as the odd format has at least p + 2 bits
   wherever the result has p, its subnormals included (Boldo and Melquiond, Emulation of FMA and
   correctly rounded sums: proved algorithms using rounding to odd, 2008). fp64 over fp32, and fp32
   over fp16 and bf16, do: bf16's smallest subnormal is 2^-133, fp32's 2^-149. */
#ifndef HC_KERNELS_ROUND_H
#define HC_KERNELS_ROUND_H

#include "num/bits.h"
#include "num/directed.h"
#include "num/format.h"

/* hc_fp16_value(hc_fp16_bits(x)) without a branch, for loops over vectors: a sum with 0.5 has its last
   bit where half's subnormals have theirs. */
HC_INLINE float hc_into_fp16(float x)
{
    uint32_t bits = hc_fp32_bits(x);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u)) & 0xffffe000u;
    uint32_t tiny = hc_fp32_bits((hc_fp32_value(magnitude) + 0.5f) - 0.5f);
    uint32_t rounded = magnitude < 0x38800000u ? tiny : normal;
    rounded = magnitude >= 0x477ff000u ? 0x7f800000u : rounded;
    rounded = magnitude > 0x7f800000u ? magnitude | 0x400000u : rounded;
    return hc_fp32_value((bits & 0x80000000u) | rounded);
}

/* x rounded to nearest into fp32 (nothing happens), fp16 or bf16. */
HC_INLINE float hc_into(enum hc_format format, float x)
{
    if (format == HC_FP16)
        return hc_into_fp16(x);
    if (format == HC_BF16)
        return hc_bf16_round(x);
    return x;
}

/* x + y rounded to odd. Exact error of the sum: Knuth's TwoSum, NaN where the sum is not finite.
   Only for sums that do not overflow fp64. */
HC_INLINE double hc_add_to_odd(double x, double y)
{
    double sum = x + y;
    double of_y = sum - x;
    double error = (x - (sum - of_y)) + (y - of_y);
    uint64_t bits = hc_fp64_bits(sum);
    int inexact = error > 0 || error < 0;
    int outward = (error > 0) == (sum > 0);
    uint64_t odd = outward ? bits + 1 : bits - 1;
    return hc_fp64_value(inexact && (bits & 1) == 0 ? odd : bits);
}

/* x rounded once to nearest into fp32, fp16 or bf16. */
HC_INLINE float hc_coefficient(enum hc_format format, double x)
{
    return format == HC_FP32 ? (float)x : hc_into(format, hc_fp32_to_odd(x));
}

#endif
