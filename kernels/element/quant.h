/* The elements of quantize and dequantize (op/quant.h): a number into its code, a code into its
   number, and 16 neighbours times a Hadamard matrix. */
#ifndef HC_KERNELS_ELEMENT_QUANT_H
#define HC_KERNELS_ELEMENT_QUANT_H

#include <math.h>
#include <stdint.h>

#include "kernels/element/significand.h"
#include "num/bits.h"
#include "num/encode.h"
#include "num/inline.h"
#include "num/narrow8.h"
#include "num/stochastic.h"
#include "op/quant.h"

/* Bit i is set where the sign of row i is minus: +++-+------+-+--. */
enum { HC_HADAMARD_MINUS = 0xd7e8 };

/* v times the signs and then Sylvester's matrix / 4. A number meets its partners at distances 1, 2,
   4 and 8, and every sum is rounded; so is the product with 1/4, where it is subnormal. */
HC_INLINE void hc_hadamard(float v[HC_HADAMARD])
{
    for (int i = 0; i < HC_HADAMARD; i++)
        v[i] = HC_HADAMARD_MINUS >> i & 1 ? -v[i] : v[i];
    for (int apart = 1; apart < HC_HADAMARD; apart *= 2)
        for (int i = 0; i < HC_HADAMARD; i++)
            if (!(i & apart)) {
                float a = v[i];
                float b = v[i + apart];
                v[i] = a + b;
                v[i + apart] = a - b;
            }
    for (int i = 0; i < HC_HADAMARD; i++)
        v[i] *= 0.25F;
}

/* The larger of an amax so far and |x|. A NaN is dropped, also a signalling one, of which fmaxf
   makes different things in different libraries. */
HC_INLINE float hc_quant_amax(float amax, float x)
{
    float magnitude = fabsf(x);
    return magnitude > amax ? magnitude : amax;
}

/* t rounded to nearest, saturating. */
HC_INLINE uint32_t hc_quant_nearest(const struct hc_format_info *f, float t)
{
    return (uint32_t)hc_encode_as(f, t, 0, HC_NEAREST, 1);
}

/* t rounded with k random bits r, 0 <= r < 2^k, k <= 24. t is m 2^(e - 23), m < 2^24; in units of
   the format's last place at t it is m 2^-cut. The units of 2^-k of what is cut off come to less
   than 2^24, so that nothing here overflows. The kept part has at most one bit more than the
   format, and as an fp64 number it is encoded again, which saturates and changes nothing else. */
HC_INLINE uint32_t hc_quant_stochastic(const struct hc_format_info *f, float t, int k, uint32_t r,
                                       int saturate)
{
    if (!isfinite(t) || t == 0)
        return (uint32_t)hc_encode_as(f, t, 0, HC_NEAREST, saturate);
    struct hc_significand s = hc_significand_of(t);
    int last = (s.k < f->emin ? f->emin : s.k) - (f->precision - 1);
    int cut = last - (s.k - 23);
    uint32_t kept = cut < 32 ? s.m >> cut : 0;
    uint32_t rest = cut < 32 ? s.m - (kept << cut) : s.m;
    uint32_t units = cut < k ? rest << (k - cut) : cut - k < 32 ? rest >> (cut - k) : 0;
    kept += (units + r) >> k;
    double value = (double)kept * hc_fp64_value((uint64_t)(last + 1023) << 52);
    return (uint32_t)hc_encode_as(f, signbit(t) ? -value : value, 0, HC_NEAREST, saturate);
}

/* The same in a few operations on 32 bits without branches, saturating or not as `f` says, for
   formats that hc_narrow8 takes and k <= 16. In units of 2^-k of the format's last place at x the
   magnitude is m >> (shift - k), where at most 31 places shift all of m out; adding r and dropping
   the k bits leaves the kept part with its hidden bit, and a carry into the exponent where there is
   one. */
HC_INLINE uint8_t hc_narrow8_random(const struct hc_narrow8 *f, uint32_t bits, int k, uint32_t r)
{
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t least = f->normal >> 23; /* the smallest normal number's exponent field */
    uint32_t field = magnitude >> 23;
    uint32_t m = (magnitude & 0x7fffffu) | (field ? 0x800000u : 0);
    uint32_t below = field < least ? least - field : 0;
    uint32_t shift = f->cut + below - (uint32_t)k;
    uint32_t kept = ((m >> (shift < 31 ? shift : 31)) + r) >> k;
    uint32_t code = kept + ((field < least ? 0 : field - least) << (23 - f->cut));
    code = code > f->largest ? f->beyond : code;
    uint32_t negative = 0 - (bits >> 31);
    uint32_t sign = negative & (code == 0 ? f->zero_sign : f->sign);
    uint32_t nan = f->nan | (negative & f->nan_sign);
    return (uint8_t)(magnitude > 0x7f800000u ? nan : code | sign);
}

/* What the codes of a call have in common. */
struct hc_quant_rounding {
    struct hc_format_info format;
    int bits; /* 0: to nearest */
    uint64_t seed;
    uint32_t step;
};

HC_INLINE struct hc_quant_rounding hc_quant_rounding_of(const struct hc_quantize *p,
                                                        const struct hc_format_info *format)
{
    struct hc_quant_rounding how = {*format, p->random_bits, p->seed, (uint32_t)p->step};
    return how;
}

/* The code of x, which is element i of codes, under the encoding factor. */
HC_INLINE uint32_t hc_element_quantize(const struct hc_quant_rounding *how, float x, float encode,
                                       int64_t i)
{
    float t = x * encode;
    if (how->bits == 0)
        return hc_quant_nearest(&how->format, t);
    uint32_t random = hc_round_random(how->seed, how->step, (uint64_t)i) >> (16 - how->bits);
    return hc_quant_stochastic(&how->format, t, how->bits, random, 1);
}

/* The number of a code under its scale and the second factor. */
HC_INLINE float hc_element_dequantize(const struct hc_format_info *codes, uint32_t code,
                                      float scale, float tensor)
{
    float number = (float)hc_decode_as(codes, code);
    return number * scale * tensor;
}

#endif
