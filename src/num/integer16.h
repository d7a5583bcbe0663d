/* Conversions into fp16 and bf16 and their four operations by integer arithmetic on the fields of the
   operands, one rounding at the end: the expected side of sweeps that are checked on a device. Shares
   nothing with num/bits.h, num/directed.h and the kernels; the same code on host and device.
   integer16_test.c holds it against MPFR, check/judge.c against the expected sides of the host over
   all operands. */
#ifndef HC_NUM_INTEGER16_H
#define HC_NUM_INTEGER16_H

#include <stdint.h>

#include "num/format.h"
#include "num/inline.h"

/* fp16 or bf16: bits of fraction, and the exponent of the smallest normal number. */
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

/* Whether the codes are the same result: equal, or both NaN. */
HC_INLINE int hc_same16(struct hc_fields16 f, uint32_t want, uint32_t got)
{
    uint32_t infinity = hc_infinity16(f);
    return want == got || ((want & 0x7fffu) > infinity && (got & 0x7fffu) > infinity);
}

/* A number, m 2^e, negative or not. With `inexact`, something above that by less than 2^e. */
struct hc_integral {
    uint64_t m;
    int e;
    uint32_t negative;
    int inexact;
};

/* The place of the highest bit of m, which is not 0. */
HC_INLINE int hc_top_bit(uint64_t m)
{
    int top = 0;
    for (int step = 32; step > 0; step /= 2)
        if (m >> top >> step)
            top += step;
    return top;
}

/* Rounds x. What is cut off at the last place that the result has, 2^last, lies below, at or above
   half of it; an inexact x has at least fraction + 2 bits, so that what it lacks lies beyond the
   half. The exponent field counts from the smallest normal exponent, the leading bit of a normal
   significand carries into it, and so does a rounding up. */
HC_INLINE uint16_t hc_round16(struct hc_fields16 f, struct hc_integral x,
                              enum hc_direction direction)
{
    uint32_t sign = x.negative << 15;
    if (x.m == 0)
        return (uint16_t)sign;
    int exponent = hc_top_bit(x.m) + x.e;
    if (exponent < f.emin)
        exponent = f.emin;
    int cut = exponent - f.fraction - x.e;
    uint64_t kept = x.m;
    int above_half = 0;
    int half = 0;
    int rest = x.inexact;
    if (cut > 62) {
        kept = 0;
        rest = 1;
    } else if (cut > 0) {
        uint64_t lost = x.m & (((uint64_t)1 << cut) - 1);
        uint64_t middle = (uint64_t)1 << (cut - 1);
        kept = x.m >> cut;
        rest = lost != 0 || x.inexact;
        above_half = lost > middle || (lost == middle && x.inexact);
        half = lost == middle && !x.inexact;
    } else {
        kept = x.m << -cut;
    }
    int away = direction == (x.negative ? HC_DOWNWARD : HC_UPWARD);
    int up = direction == HC_NEAREST ? above_half || (half && (kept & 1)) : away && rest;
    uint32_t code = ((uint32_t)(exponent - f.emin) << f.fraction) + (uint32_t)kept + (uint32_t)up;
    uint32_t most = hc_infinity16(f) - !(away || direction == HC_NEAREST);
    return (uint16_t)(sign | (code < most ? code : most));
}

HC_INLINE uint16_t hc_integer_from_fp32(enum hc_format format, uint32_t bits,
                                        enum hc_direction direction)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t exponent = bits >> 23 & 255u;
    uint32_t fraction = bits & 0x7fffffu;
    struct hc_integral x = {fraction, -149, bits >> 31, 0};
    if (exponent == 255)
        return (uint16_t)(x.negative << 15 | (fraction ? hc_nan16(f) : hc_infinity16(f)));
    if (exponent > 0) {
        x.m |= 0x800000u;
        x.e += (int)exponent - 1;
    }
    return hc_round16(f, x, direction);
}

HC_INLINE uint16_t hc_integer_from_i32(enum hc_format format, uint32_t bits,
                                       enum hc_direction direction)
{
    uint32_t negative = bits >> 31;
    struct hc_integral x = {negative ? 0u - bits : bits, 0, negative, 0};
    return hc_round16(hc_fields16_of(format), x, direction);
}

/* The number of a finite code: m has f.fraction + 1 bits if it is normal. */
HC_INLINE struct hc_integral hc_integral_of(struct hc_fields16 f, uint32_t code)
{
    uint32_t exponent = (code & 0x7fffu) >> f.fraction;
    struct hc_integral x = {code & ((1u << f.fraction) - 1), f.emin - f.fraction, code >> 15, 0};
    if (exponent > 0) {
        x.m |= (uint64_t)1 << f.fraction;
        x.e += (int)exponent - 1;
    }
    return x;
}

/* x + y of finite numbers. Up to 40 places apart both are whole multiples of the lower unit, and the
   sum has at most 52 bits. Further apart (bf16 alone) the lower one is less than 2^8 2^-41 of the
   upper one's unit, which is moved up by 32 places: it only makes the sum inexact, upwards, or
   downwards from the next integer below. */
HC_INLINE struct hc_integral hc_integral_sum(struct hc_integral x, struct hc_integral y)
{
    struct hc_integral upper = x.e > y.e ? x : y;
    struct hc_integral lower = x.e > y.e ? y : x;
    int apart = upper.e - lower.e;
    int near = apart <= 40;
    struct hc_integral sum = {0, near ? lower.e : upper.e - 32, upper.negative, 0};
    int64_t a = (int64_t)(upper.m << (near ? apart : 32));
    int64_t b = (int64_t)(near ? lower.m : 0);
    int64_t total = upper.negative == lower.negative ? a + b : a - b;
    if (!near && lower.m) {
        sum.inexact = 1;
        total -= upper.negative != lower.negative;
    }
    if (total < 0)
        sum.negative = lower.negative;
    else if (total == 0)
        sum.negative = x.negative & y.negative; /* to nearest: -0 from two -0 alone */
    sum.m = (uint64_t)(total < 0 ? -total : total);
    return sum;
}

/* x + y; NaN has no sign and no payload, here and below. */
HC_INLINE uint16_t hc_integer_add(enum hc_format format, uint32_t x, uint32_t y)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t infinity = hc_infinity16(f);
    uint32_t size_x = x & 0x7fffu;
    uint32_t size_y = y & 0x7fffu;
    if (size_x > infinity || size_y > infinity)
        return (uint16_t)hc_nan16(f);
    if (size_x == infinity)
        return (uint16_t)(size_y == infinity && x != y ? hc_nan16(f) : x);
    if (size_y == infinity)
        return (uint16_t)y;
    return hc_round16(f, hc_integral_sum(hc_integral_of(f, x), hc_integral_of(f, y)), HC_NEAREST);
}

HC_INLINE uint16_t hc_integer_mul(enum hc_format format, uint32_t x, uint32_t y)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t infinity = hc_infinity16(f);
    uint32_t size_x = x & 0x7fffu;
    uint32_t size_y = y & 0x7fffu;
    uint32_t sign = (x ^ y) & 0x8000u;
    if (size_x > infinity || size_y > infinity)
        return (uint16_t)hc_nan16(f);
    if (size_x == infinity || size_y == infinity)
        return (uint16_t)(size_x && size_y ? sign | infinity : hc_nan16(f));
    struct hc_integral a = hc_integral_of(f, x);
    struct hc_integral b = hc_integral_of(f, y);
    struct hc_integral product = {a.m * b.m, a.e + b.e, sign >> 15, 0};
    return hc_round16(f, product, HC_NEAREST);
}

/* Both significands are moved up until they have 11 bits: the quotient of x 2^20 by y has 20 bits or
   21, and what remains makes it inexact. */
HC_INLINE uint16_t hc_integer_div(enum hc_format format, uint32_t x, uint32_t y)
{
    struct hc_fields16 f = hc_fields16_of(format);
    uint32_t infinity = hc_infinity16(f);
    uint32_t size_x = x & 0x7fffu;
    uint32_t size_y = y & 0x7fffu;
    uint32_t sign = (x ^ y) & 0x8000u;
    if (size_x > infinity || size_y > infinity || (size_x == infinity && size_y == infinity) ||
        (size_x == 0 && size_y == 0))
        return (uint16_t)hc_nan16(f);
    if (size_x == infinity || size_y == 0)
        return (uint16_t)(sign | infinity);
    if (size_x == 0 || size_y == infinity)
        return (uint16_t)sign;
    struct hc_integral a = hc_integral_of(f, x);
    struct hc_integral b = hc_integral_of(f, y);
    int lift_a = 10 - hc_top_bit(a.m);
    int lift_b = 10 - hc_top_bit(b.m);
    uint32_t dividend = (uint32_t)a.m << (lift_a + 20);
    uint32_t divisor = (uint32_t)b.m << lift_b;
    struct hc_integral quotient = {dividend / divisor, (a.e - lift_a) - (b.e - lift_b) - 20,
                                   sign >> 15, dividend % divisor != 0};
    return hc_round16(f, quotient, HC_NEAREST);
}

#endif
