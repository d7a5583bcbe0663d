/* fp32 rounded to nearest into a format of one byte, as hc_encode and hc_encode_saturated do it,
   but in a few operations on 32 bits without branches: loops over it are vectorised. The same code
   on host and device; num/bits_test.c holds it against hc_encode.

   Above the smallest normal number the pattern is cut: half of the last place that is kept, less
   one, plus that place's bit is added first, so that ties go to even and a carry runs into the
   exponent. Below it, adding a power of two whose ulp in fp32 is the format's smallest number
   leaves the code in the sum's last bits, which fp32's own rounding has rounded. */
#ifndef HC_NUM_NARROW8_H
#define HC_NUM_NARROW8_H

#include <stdint.h>

#include "num/bits.h"
#include "num/encode.h"

struct hc_narrow8 {
    uint32_t cut;     /* bits of fp32's fraction that the format lacks */
    uint32_t half;    /* what is added before the cut */
    uint32_t odd;     /* whether ties look at the last bit that is kept */
    uint32_t rebias;  /* subtracted from what is cut */
    uint32_t normal;  /* the pattern from which it is cut */
    uint32_t anchor;  /* the pattern of the power of two; 0: the format is e8m0 */
    uint32_t largest; /* codes */
    uint32_t beyond;  /* of what is too large */
    uint32_t nan;
    uint32_t sign;     /* the sign bit, or 0 */
    uint32_t nan_sign; /* the sign bit, or 0 where NaN has none */
    uint32_t zero_sign;
};

HC_INLINE struct hc_narrow8 hc_narrow8_of(const struct hc_format_info *f, int saturate)
{
    struct hc_layout l = hc_layout_of(f);
    struct hc_narrow8 n;
    int e8m0 = f->special == HC_SPECIAL_E8M0;
    n.cut = 23 - (uint32_t)l.fraction;
    n.odd = e8m0 ? 0 : 1; /* e8m0's one bit is always odd, and so are all ties rounded up */
    n.half = ((uint32_t)1 << (n.cut - 1)) - n.odd;
    n.normal = (uint32_t)(e8m0 ? 1 : f->emin + 127) << 23;
    n.rebias = e8m0 ? 0 : (uint32_t)(f->emin + 126) << l.fraction;
    n.anchor = e8m0 ? 0 : (uint32_t)(f->emin - l.fraction + 23 + 127) << 23;
    n.largest = (uint32_t)l.largest;
    n.beyond = (uint32_t)(saturate ? l.largest : l.infinity);
    n.nan = (uint32_t)l.nan;
    n.sign = f->sign ? (uint32_t)1 << (f->bits - 1) : 0;
    n.nan_sign = f->special == HC_SPECIAL_NONE ? 0 : n.sign;
    n.zero_sign = f->special == HC_SPECIAL_FNUZ ? 0 : n.sign;
    return n;
}

/* The code of the number whose fp32 pattern that is. */
HC_INLINE uint8_t hc_narrow8(const struct hc_narrow8 *f, uint32_t bits)
{
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t sign = 0 - (bits >> 31);
    uint32_t code = ((magnitude + f->half + (magnitude >> f->cut & f->odd)) >> f->cut) - f->rebias;
    float anchored = hc_fp32_value(magnitude) + hc_fp32_value(f->anchor);
    uint32_t small = f->anchor ? hc_fp32_bits(anchored) - f->anchor
                               : (magnitude + 0x200000u) >> 23; /* up from 1.5 * 2^-127 on */
    code = magnitude < f->normal ? small : code;
    code = code > f->largest ? f->beyond : code;
    sign &= code == 0 ? f->zero_sign : f->sign;
    uint32_t nan = f->nan | ((0 - (bits >> 31)) & f->nan_sign);
    return (uint8_t)(magnitude > 0x7f800000u ? nan : code | sign);
}

/* Whether hc_narrow8 rounds into that format. */
HC_INLINE int hc_is_narrow8(const struct hc_format_info *f)
{
    return f->bytes == 1 && !hc_is_integer(f);
}

#endif
