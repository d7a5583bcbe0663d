/* The scale rules whose scales are powers of two, stored as e8m0: code c is 2^(c - 127), and 255 is
   NaN. They compare significands of amax and of M as integers. */
#ifndef HC_KERNELS_ELEMENT_SCALE_E8M0_H
#define HC_KERNELS_ELEMENT_SCALE_E8M0_H

#include <math.h>
#include <stdint.h>

#include "kernels/element/scale_formats.h"
#include "kernels/element/significand.h"
#include "num/bits.h"
#include "op/scale_rule.h"

enum { HC_E8M0_MAX = 254, HC_E8M0_NAN = 255, HC_E8M0_BIAS = 127 };

HC_INLINE uint32_t hc_e8m0_of_exponent(int k)
{
    int code = k + HC_E8M0_BIAS;
    return (uint32_t)(code < 0 ? 0 : code > HC_E8M0_MAX ? HC_E8M0_MAX : code);
}

/* 2^(code - 127), of which the smallest is subnormal in fp32. */
HC_INLINE float hc_e8m0_decode(uint32_t code)
{
    if (code == HC_E8M0_NAN)
        return hc_fp32_value(0x7fc00000u);
    return hc_fp32_value(code == 0 ? 0x400000u : code << 23);
}

/* What elements under a code are multiplied by: 2^(127 - code), but under torchao 0.18 for the
   smallest code and for NaN. */
HC_INLINE float hc_e8m0_encode(enum hc_scale_rule rule, uint32_t code)
{
    if (rule == HC_SCALE_AO18_RCEIL && code == 0)
        return 1;
    if (rule == HC_SCALE_AO18_FLOOR || rule == HC_SCALE_AO18_EVEN || rule == HC_SCALE_AO18_CEIL)
        return code == HC_E8M0_NAN ? 0 : hc_e8m0_decode(HC_E8M0_MAX - (code > 0 ? code : 1));
    return hc_e8m0_decode(code == HC_E8M0_NAN ? code : HC_E8M0_MAX - code);
}

/* A finite quotient, 0 or more, rounded up to a power of two. */
HC_INLINE uint32_t hc_e8m0_round_up(float q)
{
    uint32_t bits = hc_fp32_bits(q);
    uint32_t fraction = bits & 0x7fffffu;
    return (bits >> 23) + (bits >> 23 ? fraction != 0 : fraction > 0x400000u);
}

/* The integer nearest to log2(a / M). a / M is 2^(a.k - M.k) times a quotient of significands that
   lies between 1/2 and 2; its square is compared with 2 and with 1/2, and is never equal. */
HC_INLINE int hc_log2_nearest(struct hc_significand a, struct hc_significand max)
{
    uint64_t a2 = (uint64_t)a.m * a.m;
    uint64_t max2 = (uint64_t)max.m * max.m;
    return a.k - max.k + (a2 > 2 * max2) - (2 * a2 < max2);
}

/* The code of a block whose amax is positive and finite. */
HC_INLINE uint32_t hc_e8m0_of_finite(enum hc_scale_rule rule, const struct hc_scale_formats *f,
                                     float amax)
{
    struct hc_significand a = hc_significand_of(amax);
    struct hc_significand max = hc_significand_of(f->max);
    int rounds_up = a.m + ((uint32_t)HC_SIGNIFICAND_ONE >> f->precision) >= HC_SIGNIFICAND_TWO;
    float q = amax / f->max;
    switch (rule) {
    case HC_SCALE_MX_FLOOR:
    case HC_SCALE_AO18_FLOOR:
        return hc_e8m0_of_exponent(a.k - f->emax);
    case HC_SCALE_AO_EVEN:
        if (rounds_up && a.k == 127)
            return HC_E8M0_NAN;
        return hc_e8m0_of_exponent(a.k - f->emax + rounds_up);
    case HC_SCALE_MX_EVEN:
    case HC_SCALE_AO18_EVEN:
        return hc_e8m0_of_exponent(a.k - f->emax + rounds_up);
    case HC_SCALE_MX_CEIL:
    case HC_SCALE_AO18_CEIL:
        return hc_e8m0_of_exponent(a.k - f->emax + (a.m > HC_SIGNIFICAND_ONE));
    case HC_SCALE_MX_NEAREST:
        return hc_e8m0_of_exponent(hc_log2_nearest(a, max));
    case HC_SCALE_MX_FLOOR_DIV:
        return hc_e8m0_of_exponent(a.k - max.k - (a.m < max.m));
    case HC_SCALE_MX_TE:
    case HC_SCALE_AO_RCEIL:
        return hc_e8m0_round_up(amax * (1 / f->max));
    case HC_SCALE_MX_CUBLAS:
        return hc_e8m0_round_up(q);
    case HC_SCALE_AO18_RCEIL:
        return q == 0 ? 0 : hc_e8m0_of_exponent(hc_ceil_log2_fp32(hc_significand_of(q)));
    default: /* HC_SCALE_MX_RP */
        return hc_e8m0_of_exponent(a.k - max.k + (a.m > max.m));
    }
}

/* The code of an infinite amax. What torchao 0.18 shifts out of its exponent field is 2^128. */
HC_INLINE uint32_t hc_e8m0_of_infinity(enum hc_scale_rule rule, const struct hc_scale_formats *f)
{
    switch (rule) {
    case HC_SCALE_MX_RP:
    case HC_SCALE_MX_TE:
    case HC_SCALE_MX_CUBLAS:
    case HC_SCALE_AO18_RCEIL:
        return HC_E8M0_MAX;
    case HC_SCALE_AO18_FLOOR:
    case HC_SCALE_AO18_EVEN:
    case HC_SCALE_AO18_CEIL:
        return hc_e8m0_of_exponent(128 - f->emax);
    default:
        return HC_E8M0_NAN;
    }
}

/* DeepGEMM's decoding scale rounded up to a power of two. inf and NaN become 2^127. */
HC_INLINE uint32_t hc_e8m0_deepgemm(float sf)
{
    uint32_t code = hc_e8m0_round_up(sf);
    uint32_t most = HC_E8M0_MAX;
    return code < 1 ? 1 : code > most ? most : code;
}

/* The code of a block whose amax is 0, positive or NaN. 0 gets the smallest scale. */
HC_INLINE uint32_t hc_e8m0_of(enum hc_scale_rule rule, const struct hc_scale_formats *f, float amax)
{
    if (isnan(amax))
        return HC_E8M0_NAN;
    if (isinf(amax))
        return hc_e8m0_of_infinity(rule, f);
    return amax == 0 ? 0 : hc_e8m0_of_finite(rule, f, amax);
}

#endif
