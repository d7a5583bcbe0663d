/* For the tests of the CPU's bf16 instructions: a model of one step of their sums, vectors that are
   directed at its corners, and a slice or the whole of a long comparison. */
#ifndef HC_KERNELS_AVX512BF16_TESTING_H
#define HC_KERNELS_AVX512BF16_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "num/bits.h"
#include "num/rng.h"

static const uint32_t quiet_bit = 0x400000;
static const uint32_t default_nan = 0xffc00000;

/* HC_WHOLE=1 in the environment: all of a comparison of which a test takes a slice otherwise. */
static inline bool is_whole(void)
{
    const char *wish = getenv("HC_WHOLE");
    return wish && strcmp(wish, "1") == 0;
}

static inline float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline bool is_nan(uint32_t x)
{
    return (x & 0x7fffffff) > 0x7f800000;
}

static inline uint32_t subnormal_to_zero(uint32_t x)
{
    return x & 0x7f800000 ? x : x & 0x80000000;
}

/* product + addend, which is finite, rounded to 24 bits as if the exponent had no end. The sum in
   fp64 is made odd where it is inexact (by the exact error of Knuth's two-sum), so that rounding it
   once more is right: fp64 has 53 bits, at least two more than 24. Products of bf16 are exact in
   fp64, and nothing here is subnormal there. */
static inline double rounded_sum(double product, double addend)
{
    double sum = product + addend;
    double back = sum - product;
    double error = (product - (sum - back)) + (addend - back);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && !(bits & 1))
        bits += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    uint64_t rest = bits & 0x1fffffff;
    bits -= rest;
    if (rest > 0x10000000 || (rest == 0x10000000 && bits >> 29 & 1))
        bits += 0x20000000;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

/* One step, a b + c, of numbers in fp32's bits; a and b are bf16 numbers, or 1. */
static inline uint32_t model_step(uint32_t a, uint32_t b, uint32_t c)
{
    if (is_nan(a) || is_nan(b))
        return (is_nan(a) ? a : b) | quiet_bit;
    double product = (double)from_bits(subnormal_to_zero(a)) * from_bits(subnormal_to_zero(b));
    if (is_nan(c))
        return c | quiet_bit;
    double addend = from_bits(subnormal_to_zero(c));
    double sum = product + addend;
    if (sum != sum)
        return default_nan;
    if (!isinf(sum))
        sum = rounded_sum(product, addend);
    if (fabs(sum) < 0x1p-126)
        sum = copysign(0, sum);
    return bits_of((float)sum);
}

/* vdpbf16ps in one lane: the high product, then the low one. A NaN among the low operands hides the
   rest. */
static inline uint32_t model_pair(uint32_t a, uint32_t b, uint32_t c)
{
    if (is_nan(a << 16) || is_nan(b << 16))
        return (is_nan(a << 16) ? a : b) << 16 | quiet_bit;
    return model_step(a << 16, b << 16, model_step(a & 0xffff0000, b & 0xffff0000, c));
}

/* tdpbf16ps in one element: b's pairs are `stride` apart. A NaN in C hides the others, and one of
   the low products' chain one of the high products'. */
static inline uint32_t model_tile(const uint32_t *a, const uint32_t *b, int64_t stride,
                                  int64_t pairs, uint32_t c)
{
    const uint32_t one = 0x3f800000;
    uint32_t low = 0;
    uint32_t high = 0;
    for (int64_t i = 0; i < pairs; i++) {
        low = model_step(a[i] << 16, b[i * stride] << 16, low);
        high = model_step(a[i] & 0xffff0000, b[i * stride] & 0xffff0000, high);
    }
    return model_step(c, one, model_step(low, one, high));
}

/* Random words of a test, in their order. */
struct draws {
    uint64_t stream;
    uint64_t next;
};

static inline uint32_t draw(struct draws *d)
{
    return (uint32_t)hc_random(14, d->stream, d->next++);
}

static inline uint32_t drawn_below(struct draws *d, uint32_t n)
{
    return (uint32_t)((uint64_t)draw(d) * n >> 32);
}

/* A bf16 number whose exponent is in [lowest, lowest + range), with few bits in every other one. */
static inline uint32_t drawn_bf16(struct draws *d, int lowest, uint32_t range)
{
    uint32_t r = draw(d);
    uint32_t fraction = r & 1 ? r >> 1 & 0x7f : r >> 1 & 0x60;
    return (r >> 16 & 0x8000) | ((uint32_t)(127 + lowest) + drawn_below(d, range)) << 7 | fraction;
}

static inline double bf16_product(uint32_t a, uint32_t b)
{
    return (double)from_bits(a << 16) * from_bits(b << 16);
}

/* One of the numbers at which something changes: zeros, the ends of the subnormals and of the
   normal numbers, infinities and NaNs of both kinds. */
static inline uint32_t drawn_special_bf16(struct draws *d)
{
    static const uint32_t special[] = {0x0000, 0x0001, 0x007f, 0x0080, 0x3f80, 0x7f7f,
                                       0x7f80, 0x7f81, 0x7fc0, 0x7fff, 0x0040, 0x0081};
    uint32_t r = draw(d);
    return special[drawn_below(d, 12)] | (r & 0x8000);
}

static inline uint32_t drawn_special_fp32(struct draws *d)
{
    static const uint32_t special[] = {0x00000000, 0x00000001, 0x007fffff, 0x00800000,
                                       0x3f800000, 0x7f7fffff, 0x7f800000, 0x7f800001,
                                       0x7fc00005, 0x7fffffff, 0x00400000, 0x00800001};
    uint32_t r = draw(d);
    return special[drawn_below(d, 12)] | (r & 0x80000000);
}

/* 2^-126 (1 - j 2^-25) of either sign, j in [-8, 8): what lies between 2^-126 - 2^-150 and
   2^-126 - 2^-151 is 2^-126 where subnormals are rounded first, and a zero here. */
static inline double drawn_sliver(struct draws *d)
{
    double near = 0x1p-126 - 0x1p-151 * ((int)drawn_below(d, 16) - 8);
    return draw(d) & 1 ? near : -near;
}

#endif
