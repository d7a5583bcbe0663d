/* A model of a matrix unit, in integers.

   Published measurements (library/accumulator.c) say that a tensor core does not round after each
   addition. It takes a block of products and the sum so far, aligns all of them to the largest
   exponent, cuts off what lies below the last bit of that number and a few extra bits, adds the
   integers exactly, and cuts the total to 24 bits. Everything is cut towards zero. Errors of such a
   sum are therefore larger than those of fp32 additions, and biased.

   Here the aligned terms are int64_t multiples of 2^last. A product of 16-bit or tf32 numbers has
   at most 22 bits and is exact in fp64, between 2^-266 and 2^256, and a block of 17 terms of 26
   bits fits easily. The bounds of gemm and of convolutions are derived from the same description
   (struct hc_accumulator), so that the tests here hold the bounds against a unit that behaves
   so. */
#include "kernels/cuda/emulate/sum.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "num/bits.h"

float hc_sum_rounded(enum hc_format format, float x)
{
    return format == HC_FP32 ? x : (float)hc_round(format, (double)x);
}

void hc_sum_begin(struct hc_sum *sum, const struct hc_sum_rule *rule)
{
    sum->rule = rule;
    sum->value = 0;
    sum->count = 0;
}

/* 2^exponent, for exponents of normal numbers. */
static double power(int exponent)
{
    return hc_fp64_value((uint64_t)(exponent + 1023) << 52);
}

/* The exponent of x; zero's is below all others. */
static int exponent_of(double x)
{
    return (int)(hc_fp64_bits(x) >> 52 & 0x7ff) - 1023;
}

/* total * 2^last, cut to 24 bits and to a multiple of 2^-149. */
static float cut(int64_t total, int last)
{
    uint64_t size = (uint64_t)(total < 0 ? -total : total);
    int drop = size ? 64 - __builtin_clzll(size) - HC_SUM_PRECISION : 0;
    if (drop < -149 - last)
        drop = -149 - last;
    if (drop > 0)
        size = drop < 64 ? size >> drop << drop : 0;
    double value = (double)size * power(last);
    return (float)(total < 0 ? -value : value);
}

/* The sum with an infinity or a NaN among the terms: that of ordinary arithmetic. */
static float special(const struct hc_sum *sum)
{
    double value = (double)sum->value;
    for (int i = 0; i < sum->count; i++)
        value += sum->term[i];
    return (float)value;
}

static void add_block(struct hc_sum *sum)
{
    int top = exponent_of((double)sum->value);
    for (int i = 0; i < sum->count; i++)
        top = exponent_of(sum->term[i]) > top ? exponent_of(sum->term[i]) : top;
    if (top == 1024) {
        sum->value = special(sum);
    } else if (top > -1023) {
        int last = top - (HC_SUM_PRECISION - 1) - HC_SUM_EXTRA_BITS;
        double scale = power(-last);
        int64_t total = (int64_t)((double)sum->value * scale);
        for (int i = 0; i < sum->count; i++)
            total += (int64_t)(sum->term[i] * scale);
        sum->value = cut(total, last);
    }
    sum->count = 0;
}

static float cut_factor(enum hc_format format, float x)
{
    return format == HC_TF32 && isfinite(x) ? hc_fp32_value(hc_fp32_bits(x) & ~0x1fffu) : x;
}

void hc_sum_add(struct hc_sum *sum, float x, float y)
{
    const struct hc_sum_rule *rule = sum->rule;
    float a = cut_factor(rule->operand, x);
    float b = cut_factor(rule->operand, y);
    if (rule->block == 1) {
        sum->value = hc_sum_rounded(rule->partial, sum->value + a * b);
        return;
    }
    sum->term[sum->count++] = (double)a * (double)b;
    if (sum->count == rule->block)
        add_block(sum);
}

float hc_sum_end(struct hc_sum *sum)
{
    if (sum->count > 0)
        add_block(sum);
    return sum->value;
}
