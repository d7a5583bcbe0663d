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

/* Every encoding has a sign, a biased exponent and a fraction. tf32's are stored 13 bits higher,
   where fp32 has them. */
struct hc_layout {
    int fraction; /* bits of fraction */
    int shift;    /* zero bits below the fraction in storage */
    int bias;
    uint64_t infinity; /* magnitude bits, before the shift */
    uint64_t nan;
    uint64_t largest;
};

HC_INLINE struct hc_layout hc_layout_of(const struct hc_format_info *f)
{
    struct hc_layout l;
    l.fraction = f->precision - 1;
    l.shift = f->bytes * 8 - f->bits;
    l.bias = 1 - f->emin;
    uint64_t ones = ((uint64_t)1 << (f->bits - 1 - l.fraction)) - 1;
    l.infinity = ones << l.fraction;
    l.nan = l.infinity | (uint64_t)1 << (l.fraction - 1);
    l.largest = l.infinity - 1;
    if (f->overflow == HC_OVERFLOW_NAN) {
        l.nan = l.infinity | (((uint64_t)1 << l.fraction) - 1);
        l.infinity = l.nan;
        l.largest = l.nan - 1;
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
                                       enum hc_direction direction)
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
    if (bits <= l->largest)
        return bits;
    int away = direction == HC_NEAREST || (direction == HC_UPWARD && !negative) ||
               (direction == HC_DOWNWARD && negative);
    return away ? l->infinity : l->largest;
}

/* hc_encode and hc_decode. */
HC_INLINE uint64_t hc_encode_as(const struct hc_format_info *f, double hi, double lo,
                                enum hc_direction direction)
{
    if (hc_is_integer(f))
        return hc_encode_integer(f, hi, lo, direction);
    struct hc_layout l = hc_layout_of(f);
    int negative = signbit(hi) != 0;
    if (hi == 0 && lo != 0)
        negative = lo < 0;
    uint64_t bits;
    if (isnan(hi)) {
        bits = l.nan;
    } else if (isinf(hi)) {
        bits = l.infinity;
    } else if (hi == 0 && lo == 0) {
        bits = 0;
    } else if (hi == 0) {
        int away = (direction == HC_UPWARD && !negative) || (direction == HC_DOWNWARD && negative);
        bits = away ? 1 : 0;
    } else {
        bits = hc_encode_magnitude(&l, f, fabs(hi), negative ? -lo : lo, negative, direction);
    }
    return (bits | (uint64_t)negative << (f->bits - 1)) << l.shift;
}

HC_INLINE double hc_decode_as(const struct hc_format_info *f, uint64_t bits)
{
    if (hc_is_integer(f))
        return f->bits > f->precision ? (double)(int32_t)(uint32_t)bits : (double)bits;
    struct hc_layout l = hc_layout_of(f);
    bits >>= l.shift;
    uint64_t sign = bits >> (f->bits - 1) & 1;
    uint64_t magnitude = bits & (((uint64_t)1 << (f->bits - 1)) - 1);
    uint64_t biased = magnitude >> l.fraction;
    uint64_t fraction = magnitude & (((uint64_t)1 << l.fraction) - 1);
    double value;
    if (magnitude > l.largest)
        value = magnitude == l.infinity && f->overflow == HC_OVERFLOW_INF ? (double)INFINITY
                                                                          : (double)NAN;
    else if (f->precision == 53)
        value = hc_fp64_value(magnitude);
    else if (biased == 0) /* a product that is normal in fp64 */
        value = (double)fraction * hc_fp64_value((uint64_t)(f->emin - l.fraction + 1023) << 52);
    else
        value =
            hc_fp64_value((biased + 1023 - (uint64_t)l.bias) << 52 | fraction << (52 - l.fraction));
    return sign ? -value : value;
}

#endif
