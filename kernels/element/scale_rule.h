/* The scale rules (op/scale_rule.h): from the largest magnitude of a block, amax, and for rules of
   two levels from that of the tensor, to what a code is multiplied by to decode it and what an
   element is multiplied by before it is rounded into a code. All is fp32 or integers, and fp64 only
   where a rule says so: every backend gets the same bits. The rules of powers of two are in
   scale_e8m0.h, those with a state in scale_delayed.h. */
#ifndef HC_KERNELS_ELEMENT_SCALE_RULE_H
#define HC_KERNELS_ELEMENT_SCALE_RULE_H

#include <math.h>
#include <stdint.h>

#include "kernels/element/scale_e8m0.h"
#include "kernels/element/scale_formats.h"
#include "num/bits.h"
#include "num/encode.h"
#include "op/scale_rule.h"

struct hc_scale {
    float decode;    /* d: what quantize stores, as fp32 */
    float encode;    /* e: an element's code is RN_SAT(fl(x * e)) */
    uint32_t stored; /* d's bits in hc_scale_format(rule): fp32, e8m0 or ue4m3 */
};

/* What a rule of two levels makes of the amax of the whole tensor. */
struct hc_tensor_scale {
    float decode; /* t: the second factor of every code; 1 under rules of one level */
    float encode; /* what the blocks' scales are multiplied by before they are stored */
};

HC_INLINE struct hc_scale hc_scale_as_fp32(float decode, float encode)
{
    struct hc_scale s = {decode, encode, hc_fp32_bits(decode)};
    return s;
}

/* The scale of a multiplier: HC_SCALE_GIVEN's, and a delayed rule's. */
HC_INLINE struct hc_scale hc_scale_of_multiplier(float multiplier)
{
    return hc_scale_as_fp32(1 / multiplier, multiplier);
}

/* TransformerEngine's: M / amax, where an infinite quotient becomes `instead`. */
HC_INLINE float hc_scale_te(float max, float amax, float instead)
{
    if (!isfinite(amax) || amax == 0)
        return 1;
    float s = max / amax;
    return isinf(s) ? instead : s;
}

/* s without its fraction: the power of two at or below it. */
HC_INLINE float hc_scale_power_below(float s)
{
    return hc_fp32_value(hc_fp32_bits(s) & 0xff800000u);
}

/* What TransformerEngine's tests expect instead, without their power of two. */
HC_INLINE float hc_scale_te_reference(float max, float amax)
{
    float s = max / amax;
    return amax == 0 ? 1 : isinf(s) ? HC_FP32_MAX : s;
}

/* And with it. frexp gives a NaN the exponent 0, which makes 1/2 of it. */
HC_INLINE float hc_scale_te_reference_pow2(float max, float amax)
{
    float s = hc_scale_te_reference(max, amax);
    return isnan(s) ? 0.5F : hc_scale_power_below(s);
}

/* torchao's: M times the reciprocal of max(amax, 1e-12), in fp64. A NaN passes the maximum. */
HC_INLINE float hc_scale_torchao(float max, float amax)
{
    double a = (double)amax;
    a = a < 1e-12 ? 1e-12 : a;
    return (float)((double)max * (1 / a));
}

/* s rounded down to a power of two by way of an fp32 logarithm. 0, inf and NaN stay. */
HC_INLINE float hc_scale_power_by_log2(float s)
{
    if (!isfinite(s) || s == 0)
        return s;
    return ldexpf(1, hc_floor_log2_fp32(hc_significand_of(s)));
}

/* DeepSeek-V3's decoding scale, a power of two by way of an fp32 logarithm. Triton's maximum drops
   a NaN. */
HC_INLINE float hc_scale_deepseek(float max, float amax)
{
    float sf = (amax > 1e-4F ? amax : 1e-4F) / max;
    return isinf(sf) ? sf : ldexpf(1, hc_ceil_log2_fp32(hc_significand_of(sf)));
}

/* DeepGEMM's decoding scale. A NaN passes the maximum. */
HC_INLINE float hc_scale_deepgemm(float max, float amax)
{
    return (amax < 1e-4F ? 1e-4F : amax) / max;
}

/* The first level. One-level rules give 1 and 1. */
HC_INLINE struct hc_tensor_scale hc_tensor_scale_of(enum hc_scale_rule rule,
                                                    const struct hc_scale_formats *f, float amax)
{
    struct hc_tensor_scale t = {1, 1};
    float most = f->max * 448;
    if (rule == HC_SCALE_NVFP4_TE) {
        float s = fminf(most / amax, HC_FP32_MAX);
        t.encode = amax == 0 || s == 0 ? 1 : s;
        t.decode = 1 / t.encode;
    } else if (rule == HC_SCALE_NVFP4_TORCHAO) {
        t.decode = amax / most;
        t.encode = 1 / t.decode;
    }
    return t;
}

/* A positive number rounded into ue4m3; the result is its code, and *value what that is worth. */
HC_INLINE uint32_t hc_scale_ue4m3(float x, float *value)
{
    const struct hc_format_info ue4m3 = {"ue4m3", 4, -6, 8, 1, 7, 0, HC_SPECIAL_FN};
    uint32_t code = (uint32_t)hc_encode_as(&ue4m3, x, 0, HC_NEAREST, 1);
    *value = (float)hc_decode_as(&ue4m3, code);
    return code;
}

HC_INLINE struct hc_scale hc_scale_nvfp4_te(const struct hc_scale_formats *f,
                                            const struct hc_tensor_scale *t, float amax)
{
    struct hc_scale s;
    float c = t->encode * (1 / f->max);
    s.stored = hc_scale_ue4m3(fminf(amax * c, HC_FP32_MAX), &s.decode);
    s.encode = fminf(1 / (s.decode * t->decode), HC_FP32_MAX);
    return s;
}

HC_INLINE struct hc_scale hc_scale_nvfp4_torchao(const struct hc_scale_formats *f,
                                                 const struct hc_tensor_scale *t, float amax)
{
    struct hc_scale s;
    float b = amax / f->max / t->decode;
    b = b < 0x1p-6F ? 0x1p-6F : b;
    s.stored = hc_scale_ue4m3(b, &s.decode);
    s.encode = t->encode / s.decode;
    return s;
}

HC_INLINE struct hc_scale hc_scale_of_block_e8m0(enum hc_scale_rule rule,
                                                 const struct hc_scale_formats *f, float amax)
{
    struct hc_scale s;
    s.stored = rule == HC_SCALE_DEEPGEMM_UE8M0 ? hc_e8m0_deepgemm(hc_scale_deepgemm(f->max, amax))
                                               : hc_e8m0_of(rule, f, amax);
    s.decode = hc_e8m0_decode(s.stored);
    s.encode = hc_e8m0_encode(rule, s.stored);
    return s;
}

/* The scale of a block whose amax this is; under the rules of a tensor the block is the tensor.
   `tensor` is what hc_tensor_scale_of gives, and rules of one level do not look at it. The rule is
   not HC_SCALE_GIVEN, whose scale is hc_scale_of_multiplier's. */
HC_INLINE struct hc_scale hc_scale_of(enum hc_scale_rule rule, const struct hc_scale_formats *f,
                                      const struct hc_tensor_scale *tensor, float amax)
{
    float sf;
    switch (rule) {
    case HC_SCALE_TE_CURRENT:
        return hc_scale_of_multiplier(hc_scale_te(f->max, amax, HC_FP32_MAX));
    case HC_SCALE_TE_CURRENT_POW2:
        return hc_scale_of_multiplier(hc_scale_power_below(hc_scale_te(f->max, amax, HC_FP32_MAX)));
    case HC_SCALE_TE_REFERENCE:
        return hc_scale_of_multiplier(hc_scale_te_reference(f->max, amax));
    case HC_SCALE_TE_REFERENCE_POW2:
        return hc_scale_of_multiplier(hc_scale_te_reference_pow2(f->max, amax));
    case HC_SCALE_TE_BLOCK:
        return hc_scale_of_multiplier(
            hc_scale_power_below(hc_scale_te(f->max, amax, f->input_max)));
    case HC_SCALE_TE_BLOCK_FP32:
        return hc_scale_of_multiplier(hc_scale_te(f->max, amax, f->input_max));
    case HC_SCALE_TORCHAO:
        return hc_scale_of_multiplier(hc_scale_torchao(f->max, amax));
    case HC_SCALE_TORCHAO_POW2:
        return hc_scale_of_multiplier(hc_scale_power_by_log2(hc_scale_torchao(f->max, amax)));
    case HC_SCALE_DEEPGEMM:
        sf = hc_scale_deepgemm(f->max, amax);
        return hc_scale_as_fp32(sf, 1 / sf);
    case HC_SCALE_DEEPSEEK_UE8M0:
        sf = hc_scale_deepseek(f->max, amax);
        return hc_scale_as_fp32(sf, 1 / sf);
    case HC_SCALE_NVFP4_TE:
        return hc_scale_nvfp4_te(f, tensor, amax);
    case HC_SCALE_NVFP4_TORCHAO:
        return hc_scale_nvfp4_torchao(f, tensor, amax);
    default:
        return hc_scale_of_block_e8m0(rule, f, amax);
    }
}

#endif
