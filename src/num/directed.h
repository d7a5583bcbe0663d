/* Conversions to fp16 and bf16 in all four directions, and from fp64 without a detour through a
   rounded fp32; the same code on host and device. */
#ifndef HC_NUM_DIRECTED_H
#define HC_NUM_DIRECTED_H

#include "num/bits.h"
#include "num/format.h"

/* Rounds x to odd in fp32: an exact value stays, and of the two neighbours of an inexact one the
   result is the one whose last bit is 1.

   A second rounding, into a format of at most 22 bits whose subnormals end at 2^-147 or above, then
   gives in every direction what one rounding of x gives: the odd neighbour is no tie and no value
   of that format, and lies on x's side of both (Boldo and Melquiond, Emulation of FMA and correctly
   rounded sums, 2008). The nearest fp32 number is one of the two neighbours; if it is even, the
   other one, towards x, is odd. A number beyond fp32 becomes the largest finite one, which is
   odd. */
HC_INLINE float hc_fp32_to_odd(double x)
{
    float nearest = (float)x;
    double back = (double)nearest;
    uint32_t bits = hc_fp32_bits(nearest);
    int inexact = back < x || back > x;
    int outside = x > 0 ? back > x : back < x;
    uint32_t odd = outside ? bits - 1 : bits + 1;
    return hc_fp32_value(inexact && (bits & 1) == 0 ? odd : bits);
}

/* Whether `direction` leads away from zero on the side of that sign bit. */
HC_INLINE uint32_t hc_leads_away(enum hc_direction direction, uint32_t sign)
{
    return direction == (sign ? HC_DOWNWARD : HC_UPWARD);
}

/* Zeros, infinities and NaN are treated as by hc_fp16_bits. A finite value never becomes infinite
   in a direction that leads towards zero. */
HC_INLINE uint16_t hc_fp16_directed(float x, enum hc_direction direction)
{
    uint32_t bits = hc_fp32_bits(x);
    uint32_t magnitude = bits & 0x7fffffffu;
    if (direction == HC_NEAREST || magnitude >= 0x7f800000u)
        return hc_fp16_bits(x);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t away = hc_leads_away(direction, sign);
    uint32_t code;
    if (magnitude < 0x38800000u) {
        /* fp16's subnormals are multiples of 2^-24; the product with 2^24 is exact. */
        float units = hc_fp32_value(magnitude) * 16777216.0f;
        code = (uint32_t)units;
        code += away & ((float)code != units);
    } else {
        code = (magnitude - 0x38000000u + away * 0x1fffu) >> 13;
    }
    uint32_t largest = 0x7bffu + away;
    return (uint16_t)(sign | (code < largest ? code : largest));
}

/* Zeros, infinities and NaN are treated as by hc_bf16_bits. */
HC_INLINE uint16_t hc_bf16_directed(float x, enum hc_direction direction)
{
    uint32_t bits = hc_fp32_bits(x);
    if (direction == HC_NEAREST || (bits & 0x7fffffffu) >= 0x7f800000u)
        return hc_bf16_bits(x);
    return (uint16_t)((bits + hc_leads_away(direction, bits >> 31) * 0xffffu) >> 16);
}

HC_INLINE uint16_t hc_fp16_from_fp64(double x, enum hc_direction direction)
{
    return hc_fp16_directed(hc_fp32_to_odd(x), direction);
}

HC_INLINE uint16_t hc_bf16_from_fp64(double x, enum hc_direction direction)
{
    return hc_bf16_directed(hc_fp32_to_odd(x), direction);
}

#endif
