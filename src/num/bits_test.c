#include <criterion/criterion.h>
#include <math.h>

#include "num/bits.h"
#include "num/directed.h"
#include "num/format.h"
#include "num/mpfr_test.h"
#include "num/narrow8.h"
#include "num/rng.h"

static void rounds_as_defined(enum hc_format format, float (*round)(float), uint32_t bits)
{
    float x = hc_fp32_value(bits);
    float got = round(x);
    double want = hc_round(format, (double)x);
    if (isnan(want))
        cr_assert(isnan(got), "0x%08x: want NaN, got %a", bits, (double)got);
    else
        cr_assert_eq(hc_fp64_bits((double)got), hc_fp64_bits(want), "0x%08x: want %a, got %a", bits,
                     want, (double)got);
}

static float fp16_round(float x)
{
    return hc_fp16_round(x);
}

static float bf16_round(float x)
{
    return hc_bf16_round(x);
}

static float tf32_round(float x)
{
    return hc_tf32_round(x);
}

Test(bits, rounding_without_a_branch_is_right_about_tf32_values_and_ties)
{
    for (uint32_t code = 0; code < 1u << 19; code += code < 2048 ? 1 : 37)
        for (uint32_t i = 0; i < 3; i++) {
            rounds_as_defined(HC_TF32, tf32_round, (code << 13) - 1 + i);
            rounds_as_defined(HC_TF32, tf32_round, (code << 13) + 0xfff + i);
        }
}

Test(bits, rounding_without_a_branch_is_right_about_every_fp16_value_and_tie)
{
    for (uint32_t code = 0; code < 0xfc00; code += code == 0x7c00 ? 0x400 : 1) {
        uint32_t at = hc_fp32_bits(hc_fp16_value((uint16_t)code));
        uint32_t tie = at + 0x1000;
        for (uint32_t i = 0; i < 3; i++) {
            rounds_as_defined(HC_FP16, fp16_round, at - 1 + i);
            rounds_as_defined(HC_FP16, fp16_round, tie - 1 + i);
        }
    }
}

Test(bits, rounding_without_a_branch_is_right_about_every_bf16_value_and_tie)
{
    for (uint32_t code = 0; code < 0x10000; code++)
        for (uint32_t i = 0; i < 3; i++) {
            rounds_as_defined(HC_BF16, bf16_round, (code << 16) - 1 + i);
            rounds_as_defined(HC_BF16, bf16_round, (code << 16) + 0x7fff + i);
        }
}

Test(bits, rounding_without_a_branch_is_right_across_all_of_fp32)
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
        rounds_as_defined(HC_FP16, fp16_round, (uint32_t)bits);
        rounds_as_defined(HC_BF16, bf16_round, (uint32_t)bits);
        rounds_as_defined(HC_TF32, tf32_round, (uint32_t)bits);
    }
}

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

static void holds(enum hc_format format, int saturate, uint32_t bits)
{
    struct hc_narrow8 n = hc_narrow8_of(&hc_formats[format], saturate);
    double x = (double)hc_fp32_value(bits);
    uint64_t want = saturate ? hc_encode_saturated(format, x, 0, HC_NEAREST)
                             : hc_encode(format, x, 0, HC_NEAREST);
    uint8_t got = hc_narrow8(&n, bits);
    cr_assert_eq(want, got, "%s%s: %08x (%a): want %02x, got %02x", hc_formats[format].name,
                 saturate ? " saturated" : "", bits, x, (unsigned)want, got);
}

/* The last 12 bits of a pattern and all above: each exponent and sign with every fraction of 11
   bits, and behind those nothing, one bit and all bits. No format keeps more than 3 bits, so that a
   cut is met with every first bits and with every kind of rest. */
static void every_start(enum hc_format format, int saturate)
{
    static const uint32_t rests[] = {0, 1, 0x800, 0xfff};
    for (uint32_t start = 0; start < 1u << 20; start++)
        for (size_t r = 0; r < sizeof rests / sizeof rests[0]; r++)
            holds(format, saturate, start << 12 | rests[r]);
}

Test(narrow8, has_the_bits_of_encode)
{
    for (int f = HC_FP64; f < HC_FORMAT_COUNT; f++)
        for (int saturate = 0; hc_is_narrow8(&hc_formats[f]) && saturate < 2; saturate++) {
            every_start((enum hc_format)f, saturate);
            for (uint64_t i = 0; i < 100000; i++)
                holds((enum hc_format)f, saturate, (uint32_t)hc_random(3, (uint64_t)f, i));
        }
}

/* The witnesses of published differences (OCP OFP8 1.0, MX 1.0; CUDA's cuda_fp8.h). */
Test(narrow8, rounds_where_implementations_have_been_wrong)
{
    static const struct {
        enum hc_format format;
        uint32_t bits;
        uint8_t saturated;
        uint8_t not_saturated;
    } rows[] = {
        {HC_E4M3, 0x43e80000, 0x7e, 0x7e},     {HC_E4M3, 0x43e80001, 0x7e, 0x7f},
        {HC_E4M3, 0x3a800000, 0x00, 0x00},     {HC_E4M3, 0x3a800001, 0x01, 0x01},
        {HC_E4M3, 0x3f880000, 0x38, 0x38},     {HC_E4M3, 0x3f880001, 0x39, 0x39},
        {HC_E4M3, 0x3f980000, 0x3a, 0x3a},     {HC_E4M3, 0x3fa88000, 0x3b, 0x3b},
        {HC_E4M3, 0xff800000, 0xfe, 0xff},     {HC_E5M2, 0x476fffff, 0x7b, 0x7b},
        {HC_E5M2, 0x47700000, 0x7b, 0x7c},     {HC_E5M2, 0x37000000, 0x00, 0x00},
        {HC_E5M2, 0x37000001, 0x01, 0x01},     {HC_E4M3FNUZ, 0x4377ffff, 0x7f, 0x7f},
        {HC_E4M3FNUZ, 0x43780000, 0x7f, 0x80}, {HC_E4M3FNUZ, 0x80000000, 0x00, 0x00},
        {HC_E4M3FNUZ, 0xc3780000, 0xff, 0x80}, {HC_E5M2FNUZ, 0xb6800000, 0x00, 0x00},
        {HC_E2M1, 0x3e800000, 0x0, 0x0},       {HC_E2M1, 0x3f400000, 0x2, 0x2},
        {HC_E2M1, 0x3fe00000, 0x4, 0x4},       {HC_E2M1, 0x40a00000, 0x6, 0x6},
        {HC_E2M1, 0xffc00000, 0x7, 0x7},       {HC_E2M1, 0x80000000, 0x8, 0x8},
        {HC_E8M0, 0x00400000, 0x00, 0x00},     {HC_E8M0, 0x005fffff, 0x00, 0x00},
        {HC_E8M0, 0x00600000, 0x01, 0x01},     {HC_E8M0, 0x7f400000, 0xfe, 0xff},
        {HC_E8M0, 0x00000000, 0x00, 0x00},     {HC_UE4M3, 0xbf800000, 0x38, 0x38},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int saturate = 0; saturate < 2; saturate++) {
            struct hc_narrow8 n = hc_narrow8_of(&hc_formats[rows[i].format], saturate);
            cr_expect_eq(hc_narrow8(&n, rows[i].bits),
                         saturate ? rows[i].saturated : rows[i].not_saturated, "row %zu", i);
        }
}
