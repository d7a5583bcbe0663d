/* The scale rules whose scales are powers of two, stored as e8m0: code c is 2^(c - 127), 255 NaN.
   They compare the significand of amax with those of powers of two and of M, in integers. */
#ifndef HC_KERNELS_ELEMENT_SCALE_E8M0_H
#define HC_KERNELS_ELEMENT_SCALE_E8M0_H

#include <math.h>
#include <stdint.h>

#include "kernels/element/scale_formats.h"
#include "num/bits.h"
#include "op/scale_rule.h"

enum { HC_E8M0_MAX = 254, HC_E8M0_NAN = 255, HC_E8M0_BIAS = 127 };

/* A positive finite number as m 2^(k - 23) with 2^23 <= m < 2^24. */
struct hc_significand {
    int k;
    uint32_t m;
};

HC_INLINE struct hc_significand hc_significand_of(float x)
{
    uint32_t bits = hc_fp32_bits(x) & 0x7fffffffu;
    struct hc_significand s = {(int)(bits >> 23) - 127, bits & 0x7fffffu};
    if (s.k > -127) {
        s.m |= 0x800000u;
        return s;
    }
    for (s.k = -126; s.m < 0x800000u; s.k--)
        s.m <<= 1;
    return s;
}

HC_INLINE uint32_t hc_e8m0_clamp(int k)
{
    int code = k + HC_E8M0_BIAS;
    return (uint32_t)(code < 0 ? 0 : code > HC_E8M0_MAX ? HC_E8M0_MAX : code);
}

/* 2^(code - 127) as fp32. The smallest is subnormal. */
HC_INLINE float hc_e8m0_decode(uint32_t code)
{
    if (code == HC_E8M0_NAN)
        return hc_fp32_value(0x7fc00000u);
    return hc_fp32_value(code == 0 ? 0x400000u : code << 23);
}

/* What an element is multiplied by: 2^(127 - code), which is exact. */
HC_INLINE float hc_e8m0_encode(enum hc_scale_rule rule, uint32_t code)
{
    (void)rule;
    return code == HC_E8M0_NAN ? hc_e8m0_decode(code) : hc_e8m0_decode(HC_E8M0_MAX - code);
}

/* How many parts in 2^24 a number lies from a power of two 2^K, |K| >= 2^j, whose log2 fp32 rounds
   to K: floor(2^j ln 2). */
HC_INLINE uint32_t hc_log2_slack(int j)
{
    return j < 0 ? 0 : (uint32_t)(0xb17217f7u >> (32 - j));
}

/* floor(RN(log2 x)) in fp32. Numbers just below a power of two have its log2. */
HC_INLINE int hc_floor_log2_fp32(float x)
{
    struct hc_significand s = hc_significand_of(x);
    int above = s.k + 1;
    int j = -1;
    for (int n = above > 0 ? above - 1 : -above; n > 0; n >>= 1)
        j++;
    return 0x1000000u - s.m <= hc_log2_slack(j) ? above : s.k;
}

/* s rounded down to a power of two by way of an fp32 logarithm; 0, inf and NaN stay. */
HC_INLINE float hc_scale_power_by_log2(float s)
{
    if (!isfinite(s) || s == 0)
        return s;
    return ldexpf(1, hc_floor_log2_fp32(s));
}

/* The least k with a <= M 2^k. M is its own significand at emax. */
HC_INLINE int hc_e8m0_least(const struct hc_scale_formats *f, struct hc_significand a)
{
    struct hc_significand max = hc_significand_of(f->max);
    return a.k - max.k + (a.m > max.m);
}

/* Whether (a / M)^2 is above 2 times its power of two, that is, log2(a / M) above a half. */
HC_INLINE int hc_e8m0_nearest(const struct hc_scale_formats *f, struct hc_significand a)
{
    struct hc_significand max = hc_significand_of(f->max);
    int k = a.k - max.k;
    uint64_t a2 = (uint64_t)a.m * a.m;
    uint64_t max2 = (uint64_t)max.m * max.m;
    return k + (a2 > 2 * max2) - (2 * a2 < max2);
}

/* The code of a block whose amax is positive and finite. */
HC_INLINE uint32_t hc_e8m0_of_finite(enum hc_scale_rule rule, const struct hc_scale_formats *f,
                                     float amax)
{
    struct hc_significand a = hc_significand_of(amax);
    struct hc_significand max = hc_significand_of(f->max);
    uint32_t half = 0x800000u >> f->precision; /* half an ulp of an element at amax */
    switch (rule) {
    case HC_SCALE_MX_FLOOR:
        return hc_e8m0_clamp(a.k - f->emax);
    case HC_SCALE_MX_EVEN:
        return hc_e8m0_clamp(a.k - f->emax + (a.m + half > 0xffffffu));
    case HC_SCALE_MX_CEIL:
        return hc_e8m0_clamp(a.k - f->emax + (a.m > 0x800000u));
    case HC_SCALE_MX_NEAREST:
        return hc_e8m0_clamp(hc_e8m0_nearest(f, a));
    case HC_SCALE_MX_FLOOR_DIV:
        return hc_e8m0_clamp(a.k - max.k - (a.m < max.m));
    default: /* HC_SCALE_MX_RP */
        return hc_e8m0_clamp(hc_e8m0_least(f, a));
    }
}

/* deepgemm's decoding scale, rounded up to a power of two, without a NaN: NaN and inf become
   2^127. */
HC_INLINE uint32_t hc_e8m0_deepgemm(const struct hc_scale_formats *f, float amax)
{
    uint32_t bits = hc_fp32_bits((amax < 1e-4F ? 1e-4F : amax) / f->max);
    uint32_t code = (bits >> 23 & 0xffu) + ((bits & 0x7fffffu) != 0);
    return code < 1 ? 1 : code > HC_E8M0_MAX ? HC_E8M0_MAX : code;
}

/* The code of a block. amax is 0, positive or NaN. Zeros get the smallest scale. */
HC_INLINE uint32_t hc_e8m0_of(enum hc_scale_rule rule, const struct hc_scale_formats *f, float amax)
{
    if (rule == HC_SCALE_DEEPGEMM_UE8M0)
        return hc_e8m0_deepgemm(f, amax);
    if (isnan(amax))
        return HC_E8M0_NAN;
    if (isinf(amax))
        return rule == HC_SCALE_MX_RP ? HC_E8M0_MAX : HC_E8M0_NAN;
    return amax == 0 ? 0 : hc_e8m0_of_finite(rule, f, amax);
}

#endif
