/* The definition of every operation against MPFR itself, on random operands of each format. MPFR
   computes with 4600 bits, which hold any sum and product exactly, and rounds by its own means. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdint.h>

#include "formula/evaluation.h"
#include "num/mpfr_test.h"

enum { BITS = 4600, TRIALS = 400 };

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 11 ^ state << 40;
}

/* Numbers of all sizes; every fourth is near 1, and every tenth an infinity, a zero or a NaN. */
static double random_number(enum hc_format format)
{
    static const double ends[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1};
    uint64_t bits = random_bits();
    if (bits % 10 == 0)
        return hc_round(format, ends[bits / 10 % 6]);
    if (bits % 4 == 0)
        return hc_round(format, 1 + ldexp((double)(int32_t)(bits >> 20), -34));
    return hc_decode(format, random_bits() >> (64 - hc_formats[format].bytes * 8));
}

static const struct {
    enum hc_function f;
    int (*one)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);
    int (*two)(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    long bits;
} rows[] = {
    {HC_FN_add, NULL, mpfr_add, BITS},    {HC_FN_sub, NULL, mpfr_sub, BITS},
    {HC_FN_mul, NULL, mpfr_mul, BITS},    {HC_FN_div, NULL, mpfr_div, 1000},
    {HC_FN_sqrt, mpfr_sqrt, NULL, 1000},  {HC_FN_fma, NULL, NULL, BITS},
    {HC_FN_exp, mpfr_exp, NULL, 400},     {HC_FN_log, mpfr_log, NULL, 400},
    {HC_FN_log1p, mpfr_log1p, NULL, 400}, {HC_FN_tanh, mpfr_tanh, NULL, 400},
    {HC_FN_cos, mpfr_cos, NULL, 400},     {HC_FN_sin, mpfr_sin, NULL, 400},
    {HC_FN_erf, mpfr_erf, NULL, 400},     {HC_FN_negate, mpfr_neg, NULL, 400},
    {HC_FN_abs, mpfr_abs, NULL, 400},     {HC_FN_floor, mpfr_rint_floor, NULL, 400},
    {HC_FN_cast, mpfr_set, NULL, 400},
};

static struct hc_scratch scratch;

static void open_scratch(void)
{
    for (int k = 0; k < HC_MAX_OPERANDS; k++)
        scratch.operand[k] = hc_real_new_bits(0, 64);
    scratch.result = hc_real_new_bits(0, HC_REFERENCE_PRECISION);
    scratch.narrow_sum = hc_real_new_bits(0, HC_NARROW_SUM_BITS);
    scratch.fp64_sum = hc_real_new_bits(0, HC_FP64_SUM_BITS);
}

static void check(size_t row, const struct hc_operation *operation, const double *x)
{
    mpfr_t a[3];
    mpfr_t y;
    mpfr_init2(y, rows[row].bits);
    for (int k = 0; k < 3; k++) {
        mpfr_init2(a[k], 53);
        mpfr_set_d(a[k], x[k], MPFR_RNDN);
    }
    if (rows[row].one)
        rows[row].one(y, a[0], MPFR_RNDN);
    else if (rows[row].two)
        rows[row].two(y, a[0], a[1], MPFR_RNDN);
    else
        mpfr_fma(y, a[0], a[1], a[2], MPFR_RNDN);
    mpfr_round_into(y, operation->format, operation->direction);
    double want = mpfr_get_d(y, MPFR_RNDN);
    double got = hc_define(&scratch, operation, x).value;
    bool same = isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got);
    cr_assert(same, "%s(%a, %a, %a) in %s: %a, not %a", hc_functions[operation->function].name,
              x[0], x[1], x[2], hc_formats[operation->format].name, want, got);
    for (int k = 0; k < 3; k++)
        mpfr_clear(a[k]);
    mpfr_clear(y);
}

Test(define, every_function_is_mpfr_s_rounded_once)
{
    static const enum hc_format formats[] = {HC_FP64, HC_FP32, HC_BF16, HC_FP16};
    open_scratch();
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int f = 0; f < 4; f++)
            for (int trial = 0; trial < TRIALS; trial++) {
                struct hc_operation operation = {NULL,       rows[row].f, formats[f],
                                                 HC_NEAREST, false,       false};
                double x[3];
                for (int k = 0; k < 3; k++)
                    x[k] = random_number(formats[f]);
                check(row, &operation, x);
            }
}

Test(define, casts_between_all_formats_are_mpfr_s_in_all_directions)
{
    size_t row = sizeof rows / sizeof *rows - 1;
    open_scratch();
    for (int from = HC_FP64; from <= HC_E5M2; from++)
        for (int to = HC_FP64; to <= HC_E5M2; to++)
            for (int direction = 0; direction < HC_DIRECTION_COUNT; direction++)
                for (int trial = 0; trial < 100; trial++) {
                    struct hc_operation operation = {
                        NULL,  HC_FN_cast, (enum hc_format)to, (enum hc_direction)direction,
                        false, false};
                    double x[3] = {random_number((enum hc_format)from), 0, 0};
                    check(row, &operation, x);
                }
}

/* 2^127 + 2^-149 has 277 bits; 2^127 + ulp/2 + 2^-149 is no tie. */
Test(define, a_sum_sees_the_smallest_addend)
{
    open_scratch();
    struct hc_operation fma = {NULL, HC_FN_fma, HC_FP32, HC_NEAREST, false, false};
    struct hc_operation sub = {NULL, HC_FN_sub, HC_FP64, HC_NEAREST, false, false};
    cr_assert_eq(hc_define(&scratch, &fma, (double[3]){0x1.001p+60, 0x1.001p+60, 0x1p-149}).value,
                 0x1.002002p+120);
    cr_assert_eq(hc_define(&scratch, &fma, (double[3]){0x1.001p+60, 0x1.001p+60, -0x1p-149}).value,
                 0x1.002p+120);
    struct hc_defined y = hc_define(&scratch, &sub, (double[3]){0x1p1000, 0x1p-1074, 0});
    cr_assert(y.value == 0x1p1000 && !y.exact);
}
