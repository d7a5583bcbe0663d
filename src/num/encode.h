/* The definition of every format's encoding, the same code on host and device: hc_encode and
   hc_decode (num/format.h) for a format that is passed as data.

   A magnitude becomes an integer significand of 60 or 61 bits. The bits below the format's last
   place are cut off, and the kept ones go up by one if the direction, the first bit cut off and the
   bits behind it say so. The exponent field stands directly above the fraction, so that the
   increment carries into it, from the subnormals into the normal numbers, from one binade into the
   next, and from the largest number into infinity. */
#ifndef HC_NUM_ENCODE_H
#define HC_NUM_ENCODE_H

#include <math.h>
#include <stdint.h>

#include "num/bits.h"
#include "num/format.h"
#include "num/inline.h"

/* Every encoding has a biased exponent and a fraction, and all but e8m0 and ue4m3 a sign. tf32's
   are stored 13 bits higher, where fp32 has them. e8m0's exponent field counts from the smallest
   number and not from 0, so that its codes are one less than what the increments count. */
struct hc_layout {
    int fraction; /* bits of fraction */
    int shift;    /* zero bits below the fraction in storage */
    int bias;
    uint64_t infinity; /* magnitude bits, before the shift: what is too large becomes this */
    uint64_t nan;
    uint64_t largest;
    uint64_t first; /* what is subtracted from the count of increments: 1 for e8m0 */
};

HC_INLINE struct hc_layout hc_layout_of(const struct hc_format_info *f)
{
    struct hc_layout l;
    l.fraction = f->precision - 1;
    l.shift = hc_format_shift(f);
    l.bias = 1 - f->emin;
    l.first = f->special == HC_SPECIAL_E8M0;
    uint64_t all = ((uint64_t)1 << (f->bits - f->sign)) - 1;
    switch (f->special) {
    case HC_SPECIAL_IEEE:
        l.infinity = all >> l.fraction << l.fraction;
        l.nan = l.infinity | (uint64_t)1 << (l.fraction - 1);
        l.largest = l.infinity - 1;
        break;
    case HC_SPECIAL_FNUZ:
        l.infinity = l.nan = all + 1; /* the sign bit */
        l.largest = all;
        break;
    case HC_SPECIAL_NONE:
        l.infinity = l.nan = l.largest = all;
        break;
    default:
        l.infinity = l.nan = all;
        l.largest = all - 1;
    }
    return l;
}

/* Whether the kept part of a magnitude goes up by one. `half` is the first bit cut off, `sticky`
   whether any bit behind it was set. */
HC_INLINE int hc_rounds_up(enum hc_direction direction, int negative, int odd, int half, int sticky)
{
    switch (direction) {
    case HC_NEAREST:
        return half && (sticky || odd);
    case HC_UPWARD:
        return !negative && (half || sticky);
    case HC_DOWNWARD:
        return negative && (half || sticky);
    default:
        return 0;
    }
}

/* Integers end at 2^precision - 1, and at -2^precision if they have a sign bit, otherwise at 0. */
HC_INLINE uint64_t hc_encode_integer(const struct hc_format_info *f, double hi, double lo,
                                     enum hc_direction direction)
{
    if (isnan(hi))
        return 0;
    double down = floor(hi);
    if (down == hi && lo < 0)
        down -= 1;
    double above = (hi - down) + 0.0;
    int exact = above == 0 && lo == 0;
    double integer = down;
    int negative = hi < 0 || (hi == 0 && lo < 0);
    if (direction == HC_UPWARD || (direction == HC_TOWARD_ZERO && negative))
        integer += exact ? 0 : 1;
    if (direction == HC_NEAREST &&
        (above > 0.5 || (above == 0.5 && (lo > 0 || (lo == 0 && fmod(down, 2.0) != 0)))))
        integer += 1;
    double end = ldexp(1.0, f->precision);
    double least = f->bits > f->precision ? -end : 0;
    integer = integer > end - 1 ? end - 1 : integer < least ? least : integer;
    return (uint64_t)(int64_t)integer & (((uint64_t)1 << f->bits) - 1);
}

/* The number is m 2^e, with one more bit in m for the sign of lo. m is shifted up by enough places
   that one step down for a negative lo keeps the order and the sticky bit exact. */
HC_INLINE uint64_t hc_encode_magnitude(const struct hc_layout *l, const struct hc_format_info *f,
                                       double magnitude, double lo, int negative,
                                       enum hc_direction direction, int saturate)
{
    uint64_t bits64 = hc_fp64_bits(magnitude);
    uint64_t m = bits64 & (((uint64_t)1 << 52) - 1);
    int e = (int)(bits64 >> 52);
    if (e > 0)
        m |= (uint64_t)1 << 52;
    for (e += e == 0; m >> 52 == 0; e--) /* fp64's own subnormals */
        m <<= 1;
    m <<= 8;
    if (lo != 0)
        m += lo > 0 ? 1 : (uint64_t)-1;
    e -= 1023 + 60;
    /* m lies between 2^60 - 1 and 2^61. */
    int top = (m >> 60 ? 60 : 59) + e;
    int lsb = (top < f->emin ? f->emin : top) - l->fraction;
    int cut = lsb - e;
    uint64_t kept = 0;
    int half = 0;
    int sticky = m != 0;
    /* m has at least 60 bits and no format more than 53: cut is 7 or more. */
    if (cut >= 7 && cut <= 64) {
        kept = cut < 64 ? m >> cut : 0;
        half = (int)(m >> (cut - 1) & 1);
        sticky = (m & (((uint64_t)1 << (cut - 1)) - 1)) != 0;
    }
    kept += (uint64_t)hc_rounds_up(direction, negative, (int)(kept & 1), half, sticky);
    int biased = lsb + l->fraction + l->bias - 1;
    uint64_t bits = ((uint64_t)biased << l->fraction) + kept;
    bits -= bits > 0 ? l->first : 0;
    if (bits <= l->largest)
        return bits;
    int away = direction == HC_NEAREST || (direction == HC_UPWARD && !negative) ||
               (direction == HC_DOWNWARD && negative);
    return away && !saturate ? l->infinity : l->largest;
}

/* hc_encode, or with `saturate` hc_encode_saturated. */
HC_INLINE uint64_t hc_encode_as(const struct hc_format_info *f, double hi, double lo,
                                enum hc_direction direction, int saturate)
{
    if (hc_is_integer(f))
        return hc_encode_integer(f, hi, lo, direction);
    struct hc_layout l = hc_layout_of(f);
    int below = signbit(hi) != 0;
    if (hi == 0 && lo != 0)
        below = lo < 0;
    lo = below ? -lo : lo;
    int negative = below && f->sign;
    uint64_t bits;
    if (isnan(hi)) {
        bits = l.nan;
        negative = negative && f->special != HC_SPECIAL_NONE;
    } else if (isinf(hi)) {
        bits = saturate ? l.largest : l.infinity;
    } else if (hi == 0 && lo == 0) {
        bits = 0;
    } else if (hi == 0) {
        int away = (direction == HC_UPWARD && !negative) || (direction == HC_DOWNWARD && negative);
        bits = away && !l.first ? 1 : 0;
    } else {
        bits = hc_encode_magnitude(&l, f, fabs(hi), lo, negative, direction, saturate);
    }
    if (bits == 0 && f->special == HC_SPECIAL_FNUZ)
        negative = 0;
    return (bits | (uint64_t)negative << (f->bits - 1)) << l.shift;
}

/* hc_decode. Bits above the encoding are not looked at. */
HC_INLINE double hc_decode_as(const struct hc_format_info *f, uint64_t bits)
{
    if (hc_is_integer(f))
        return f->bits > f->precision ? (double)(int32_t)(uint32_t)bits : (double)bits;
    struct hc_layout l = hc_layout_of(f);
    bits >>= l.shift;
    uint64_t sign = f->sign ? bits >> (f->bits - 1) & 1 : 0;
    uint64_t magnitude = bits & (((uint64_t)1 << (f->bits - f->sign)) - 1);
    uint64_t biased = magnitude >> l.fraction;
    uint64_t fraction = magnitude & (((uint64_t)1 << l.fraction) - 1);
    double value;
    if (f->special == HC_SPECIAL_FNUZ && sign && magnitude == 0)
        value = (double)NAN;
    else if (magnitude > l.largest)
        value = magnitude == l.infinity && f->special == HC_SPECIAL_IEEE ? (double)INFINITY
                                                                         : (double)NAN;
    else if (f->precision == 53)
        value = hc_fp64_value(magnitude);
    else if (l.first) /* a power of two */
        value = hc_fp64_value((magnitude + 1023 - 127) << 52);
    else if (biased == 0) /* a product that is normal in fp64 */
        value = (double)fraction * hc_fp64_value((uint64_t)(f->emin - l.fraction + 1023) << 52);
    else
        value =
            hc_fp64_value((biased + 1023 - (uint64_t)l.bias) << 52 | fraction << (52 - l.fraction));
    return sign ? -value : value;
}

#endif
