/* Conversions into fp16 and bf16, and their four operations, by integer arithmetic on the fields of
   the operands with one rounding at the end. Sweeps that are judged on a device compare with it.

   It shares nothing with num/bits.h, num/directed.h and the kernels, and is the same code on host
   and device. integer16_test.c compares it with MPFR; judged sweeps compare it over all operands
   with what the host expects. The functions have no branches where it matters, so that loops on
   the host become vectors and the threads of a device do not diverge. */
#ifndef HC_NUM_INTEGER16_H
#define HC_NUM_INTEGER16_H

#include <stdint.h>

#include "num/format.h"
#include "num/inline.h"

/* The fields of fp16 or bf16: bits of fraction, and the exponent of the smallest normal number. */
struct hc_fields16 {
    int fraction;
    int emin;
};

HC_INLINE struct hc_fields16 hc_fields16_of(enum hc_format format)
{
    struct hc_fields16 f;
    f.fraction = format == HC_FP16 ? 10 : 7;
    f.emin = format == HC_FP16 ? -14 : -126;
    return f;
}

/* The codes of infinity and of the quiet NaN without a payload. */
HC_INLINE uint32_t hc_infinity16(struct hc_fields16 f)
{
    return 0x8000u - (1u << f.fraction);
}

HC_INLINE uint32_t hc_nan16(struct hc_fields16 f)
{
    return hc_infinity16(f) | 1u << (f.fraction - 1);
}

/* Whether two codes are the same result: they are equal, or both NaN. */
HC_INLINE int hc_same16(struct hc_fields16 f, uint32_t want, uint32_t got)
{
    uint32_t infinity = hc_infinity16(f);
    return want == got || ((want & 0x7fffu) > infinity && (got & 0x7fffu) > infinity);
}

/* The number m 2^e, negative or not. If `inexact`, the number lies above m 2^e in magnitude, by
   less than 2^e. */
struct hc_integral {
    uint32_t m;
    int e;
    uint32_t negative;
    int inexact;
};

/* The position of the highest bit of m; 0 for 0. */
HC_INLINE int hc_top_bit(uint32_t m)
{
    int top = (m >> 16 != 0) << 4;
    top += (m >> top >> 8 != 0) << 3;
    top += (m >> top >> 4 != 0) << 2;
    top += (m >> top >> 2 != 0) << 1;
    return top + (m >> top >> 1 != 0);
}

/* Rounds x to the format f. The discarded bits are compared with half a unit in the last place
   kept. An inexact x carries at least fraction + 2 bits, so its missing tail can act as a sticky
   bit but never decide a tie. m must be below 2^30 if more than 31 bits are discarded.

   The exponent field counts from the smallest normal exponent. The leading bit of a normal
   significand carries into it, and so does a rounding up, also into the code of infinity. */
HC_INLINE uint16_t hc_round16(struct hc_fields16 f, struct hc_integral x,
                              enum hc_direction direction)
{
    int exponent = hc_top_bit(x.m) + x.e;
    exponent = exponent < f.emin ? f.emin : exponent;
    int cut = exponent - f.fraction - x.e;
    int down = cut < 0 ? 0 : cut;
    down = down > 31 ? 31 : down;
    uint32_t kept = x.m >> down << (cut < 0 ? -cut : 0);
    uint32_t lost = x.m & ((1u << down) - 1);
    uint32_t half = 1u << down >> 1;
    uint32_t any = (lost != 0) | (uint32_t)x.inexact;
    uint32_t tie = (lost == half) & !x.inexact;
    uint32_t beyond = (lost >= half) & any & !tie;
    uint32_t away = direction == (x.negative ? HC_DOWNWARD : HC_UPWARD);
    uint32_t nearest = direction == HC_NEAREST;
    uint32_t up = nearest ? beyond | (tie & any & kept) : away & any;
    uint32_t code = ((uint32_t)(exponent - f.emin) << f.fraction) + kept + up;
    uint32_t largest = hc_infinity16(f) - !(away | nearest);
    code = code < largest ? code : largest;
    return (uint16_t)(x.negative << 15 | (x.m ? code : 0));
}

HC_INLINE uint16_t hc_integer_from_fp32(enum hc_format format, uint32_t bits,
                                        enum hc_direction direction)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t exponent = bits >> 23 & 255u;
    uint32_t fraction = bits & 0x7fffffu;
    uint32_t normal = exponent > 0;
    struct hc_integral x = {normal << 23 | fraction, (int)(exponent - normal) - 149, bits >> 31, 0};
    uint32_t special = x.negative << 15 | (fraction ? hc_nan16(f) : hc_infinity16(f));
    uint32_t finite = hc_round16(f, x, direction);
    return (uint16_t)(exponent == 255 ? special : finite);
}

HC_INLINE uint16_t hc_integer_from_i32(enum hc_format format, uint32_t bits,
                                       enum hc_direction direction)
{
    uint32_t negative = bits >> 31;
    struct hc_integral x = {negative ? 0u - bits : bits, 0, negative, 0};
    return hc_round16(hc_fields16_of(format), x, direction);
}

/* The number of a finite code. If it is normal, m has f.fraction + 1 bits. */
HC_INLINE struct hc_integral hc_integral_of(struct hc_fields16 f, uint32_t code)
{
    uint32_t exponent = (code & 0x7fffu) >> f.fraction;
    uint32_t normal = exponent > 0;
    struct hc_integral x = {normal << f.fraction | (code & ((1u << f.fraction) - 1)),
                            f.emin - f.fraction + (int)(exponent - normal), code >> 15, 0};
    return x;
}

/* x + y of finite numbers.

   If the exponents are at most 19 apart, both numbers are whole multiples of the lower unit, and
   the sum has at most 31 bits. If they are further apart, the upper number is normal, and the lower
   one is less than 2^11 2^-20 of its unit. The upper number is then shifted up by 9 places. The
   lower one only makes the sum inexact: above the upper number, or above the next integer below
   it. */
HC_INLINE struct hc_integral hc_integral_sum(struct hc_integral x, struct hc_integral y)
{
    int swapped = x.e < y.e;
    uint32_t upper = swapped ? y.m : x.m;
    uint32_t lower = swapped ? x.m : y.m;
    uint32_t negative = swapped ? y.negative : x.negative;
    uint32_t other = swapped ? x.negative : y.negative;
    int apart = swapped ? y.e - x.e : x.e - y.e;
    int aligned = apart <= 19;
    int lift = aligned ? apart : 9;
    int inexact = !aligned & (lower != 0);
    uint32_t opposed = negative ^ other;
    uint32_t b = aligned ? lower : (uint32_t)inexact & opposed;
    uint32_t total = (upper << lift) + (b ^ (0u - opposed)) + opposed; /* a + b or a - b */
    uint32_t below = total >> 31;
    /* The sum of opposites, rounded to nearest, is +0; only two -0 give -0. */
    uint32_t sign = total ? negative ^ below : negative & other;
    struct hc_integral sum = {(total ^ (0u - below)) + below, (swapped ? y.e : x.e) - lift, sign,
                              inexact};
    return sum;
}

/* x + y. Here and below a NaN result has no sign and no payload. */
HC_INLINE uint16_t hc_integer_add(enum hc_format format, uint32_t x, uint32_t y)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t infinity = hc_infinity16(f);
    uint32_t size_x = x & 0x7fffu;
    uint32_t size_y = y & 0x7fffu;
    uint32_t opposed = (size_x == infinity) & (size_y == infinity) & (x != y);
    uint32_t sum =
        hc_round16(f, hc_integral_sum(hc_integral_of(f, x), hc_integral_of(f, y)), HC_NEAREST);
    sum = size_y == infinity ? y : sum;
    sum = size_x == infinity ? x : sum;
    sum = (size_x > infinity) | (size_y > infinity) | opposed ? hc_nan16(f) : sum;
    return (uint16_t)sum;
}

HC_INLINE uint16_t hc_integer_mul(enum hc_format format, uint32_t x, uint32_t y)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t infinity = hc_infinity16(f);
    uint32_t size_x = x & 0x7fffu;
    uint32_t size_y = y & 0x7fffu;
    uint32_t sign = (x ^ y) & 0x8000u;
    uint32_t infinite = (size_x == infinity) | (size_y == infinity);
    uint32_t zero = (size_x == 0) | (size_y == 0);
    struct hc_integral a = hc_integral_of(f, x);
    struct hc_integral b = hc_integral_of(f, y);
    struct hc_integral exact = {a.m * b.m, a.e + b.e, sign >> 15, 0};
    uint32_t product = hc_round16(f, exact, HC_NEAREST);
    product = infinite ? sign | infinity : product;
    product = (size_x > infinity) | (size_y > infinity) | (infinite & zero) ? hc_nan16(f) : product;
    return (uint16_t)product;
}

/* Both significands are shifted up until they have 11 bits. The quotient of x 2^20 by y then has 20
   or 21 bits, and a remainder makes it inexact. */
HC_INLINE uint16_t hc_integer_div(enum hc_format format, uint32_t x, uint32_t y)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t infinity = hc_infinity16(f);
    uint32_t size_x = x & 0x7fffu;
    uint32_t size_y = y & 0x7fffu;
    uint32_t sign = (x ^ y) & 0x8000u;
    struct hc_integral a = hc_integral_of(f, x);
    struct hc_integral b = hc_integral_of(f, y);
    if (size_x > infinity || size_y > infinity || (size_x == infinity && size_y == infinity) ||
        (a.m == 0 && b.m == 0))
        return (uint16_t)hc_nan16(f);
    if (size_x == infinity || b.m == 0)
        return (uint16_t)(sign | infinity);
    if (a.m == 0 || size_y == infinity)
        return (uint16_t)sign;
    int lift_a = 10 - hc_top_bit(a.m);
    int lift_b = 10 - hc_top_bit(b.m);
    uint32_t dividend = a.m << (lift_a + 20);
    uint32_t divisor = b.m << lift_b;
    struct hc_integral quotient = {dividend / divisor, (a.e - lift_a) - (b.e - lift_b) - 20,
                                   sign >> 15, dividend % divisor != 0};
    return hc_round16(f, quotient, HC_NEAREST);
}

#endif
