#include "num/directed.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/mpfr_test.h"
#include "num/rng.h"

/* The four directions of a conversion from fp32 and from fp64, for one target. */
struct target {
    enum hc_format format;
    uint16_t (*nearest)(float x);
    uint16_t (*directed)(float x, enum hc_direction direction);
    uint16_t (*from_fp64)(double x, enum hc_direction direction);
    float (*value)(uint16_t bits);
};

static const struct target targets[] = {
    {HC_FP16, hc_fp16_bits, hc_fp16_directed, hc_fp16_from_fp64, hc_fp16_value},
    {HC_BF16, hc_bf16_bits, hc_bf16_directed, hc_bf16_from_fp64, hc_bf16_value},
};

enum { TARGETS = sizeof targets / sizeof targets[0] };

static uint64_t correct(enum hc_format format, double value, enum hc_direction direction)
{
    mpfr_t x;
    mpfr_init2(x, 53);
    mpfr_set_d(x, value, MPFR_RNDN);
    mpfr_round_into(x, format, direction);
    uint64_t bits = mpfr_bits(x, format, UINT64_MAX);
    mpfr_clear(x);
    return bits;
}

/* NaN: any will do that is NaN and keeps the sign. */
static void same(const struct target *t, double x, int direction, uint16_t got, const char *what)
{
    uint64_t want = correct(t->format, x, (enum hc_direction)direction);
    bool held = want == got;
    if (isnan(x))
        held = isnan(t->value(got)) && (got >> 15) == (signbit(x) != 0);
    cr_assert(held, "%s to %s, %s: %a: want %#llx, got %#x", what, hc_formats[t->format].name,
              hc_direction_names[direction], x, (unsigned long long)want, got);
}

static void holds_for_fp64(const struct target *t, double x)
{
    for (int d = 0; d < HC_DIRECTION_COUNT; d++)
        same(t, x, d, t->from_fp64(x, (enum hc_direction)d), "fp64");
}

static void holds_for_fp32(const struct target *t, uint32_t bits)
{
    float x = hc_fp32_value(bits);
    same(t, (double)x, HC_NEAREST, t->nearest(x), "fp32");
    for (int d = 0; d < HC_DIRECTION_COUNT; d++)
        same(t, (double)x, d, t->directed(x, (enum hc_direction)d), "fp32");
}

/* Every seventh value of the target, the ties beside it, and the neighbours of all of these. */
Test(directed, conversions_from_fp32_are_mpfrs_at_boundaries)
{
    for (size_t i = 0; i < TARGETS; i++)
        for (uint32_t code = 0; code < 65536; code += code < 64 ? 1 : 7) {
            float value = targets[i].value((uint16_t)code);
            float next = targets[i].value((uint16_t)(code + 1));
            float middle = (float)(((double)value + (double)next) / 2);
            for (uint32_t step = 0; step < 3; step++) {
                holds_for_fp32(&targets[i], hc_fp32_bits(value) + step - 1);
                holds_for_fp32(&targets[i], hc_fp32_bits(middle) + step - 1);
            }
        }
}

Test(directed, conversions_from_fp32_are_mpfrs_on_random_bits)
{
    for (size_t i = 0; i < TARGETS; i++)
        for (uint64_t k = 0; k < 50000; k++)
            holds_for_fp32(&targets[i], (uint32_t)hc_random(3, i, k));
}

Test(directed, conversions_from_fp64_are_mpfrs_at_boundaries)
{
    for (size_t i = 0; i < TARGETS; i++)
        for (uint32_t code = 0; code < 65536; code += code < 64 ? 1 : 11) {
            double value = (double)targets[i].value((uint16_t)code);
            double middle = (value + (double)targets[i].value((uint16_t)(code + 1))) / 2;
            for (int towards = -1; towards <= 1; towards += 2) {
                holds_for_fp64(&targets[i], value);
                holds_for_fp64(&targets[i], middle);
                holds_for_fp64(&targets[i], nextafter(value, towards * (double)INFINITY));
                holds_for_fp64(&targets[i], nextafter(middle, towards * (double)INFINITY));
            }
        }
}

/* Random bits, and random values whose exponents the target has. */
Test(directed, conversions_from_fp64_are_mpfrs_on_random_bits)
{
    for (size_t i = 0; i < TARGETS; i++)
        for (uint64_t k = 0; k < 20000; k++) {
            const struct hc_format_info *f = &hc_formats[targets[i].format];
            uint64_t random = hc_random(4, i, k);
            holds_for_fp64(&targets[i], hc_fp64_value(random));
            int exponents = f->emax - f->emin + f->precision + 6;
            int exponent = f->emin - f->precision - 3 + (int)(random % (uint64_t)exponents);
            double x = ldexp(1 + hc_random_uniform(4, 2 + i, k), exponent);
            holds_for_fp64(&targets[i], x);
            holds_for_fp64(&targets[i], (double)(float)-x);
        }
}

Test(directed, rounding_to_odd_keeps_exact_values_and_marks_the_others)
{
    for (uint64_t k = 0; k < 200000; k++) {
        double x = hc_fp64_value(hc_random(5, 0, k));
        if (k % 4)
            x = ldexp(1 + hc_random_uniform(5, 1, k), -160 + (int)(k % 300));
        float odd = hc_fp32_to_odd(x);
        if (isnan(x)) {
            cr_assert(isnan(odd));
            continue;
        }
        cr_assert_eq(hc_fp32_to_odd((double)odd), odd);
        cr_assert_eq(signbit(odd) != 0, signbit(x) != 0);
        if ((double)odd != x && !isinf(x)) {
            cr_assert_eq(hc_fp32_bits(odd) & 1, 1);
            double next = (double)nextafterf(odd, fabs((double)odd) < fabs(x) ? INFINITY * odd : 0);
            cr_assert(fabs(x) > 0x1p127 || (x < next) != (x < (double)odd));
        }
    }
}
