/* Real numbers: each operation against MPFR itself at 2000 bits, and the corners by definition. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>

#include "reference.h"

enum { WIDE = 2000, CLOSE = 53 };

/* 1 / sqrt(a): of -0 it is -inf. */
static int reciprocal_root(mpfr_t y, mpfr_srcptr a, mpfr_rnd_t rounding)
{
    mpfr_sqrt(y, a, rounding);
    return mpfr_ui_div(y, 1, y, rounding);
}

/* 1 / (1 + e^-a) = (1 + tanh(a / 2)) / 2; e^a where that loses its bits, since the next term of the
   series is e^2a. */
static int logistic(mpfr_t y, mpfr_srcptr a, mpfr_rnd_t rounding)
{
    if (mpfr_cmp_si(a, -650) < 0)
        return mpfr_exp(y, a, rounding);
    mpfr_div_2ui(y, a, 1, rounding);
    mpfr_tanh(y, y, rounding);
    mpfr_add_ui(y, y, 1, rounding);
    return mpfr_div_2ui(y, y, 1, rounding);
}

static const struct {
    const char *name;
    hc_real_unary *real;
    int (*mpfr)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);
} unary[] = {
    {"neg", hc_real_neg, mpfr_neg},
    {"abs", hc_real_abs, mpfr_abs},
    {"sqrt", hc_real_sqrt, mpfr_sqrt},
    {"exp", hc_real_exp, mpfr_exp},
    {"log", hc_real_log, mpfr_log},
    {"log1p", hc_real_log1p, mpfr_log1p},
    {"tanh", hc_real_tanh, mpfr_tanh},
    {"cos", hc_real_cos, mpfr_cos},
    {"sin", hc_real_sin, mpfr_sin},
    {"erf", hc_real_erf, mpfr_erf},
    {"floor", hc_real_floor, mpfr_rint_floor},
    {"round", hc_real_round, mpfr_rint_roundeven},
    {"rsqrt", hc_real_rsqrt, reciprocal_root},
    {"sigmoid", hc_real_sigmoid, logistic},
};

/* Splits the true value into the nearest double and the sign of what is left. */
static void split(mpfr_srcptr x, double *hi, int *rest)
{
    *hi = mpfr_get_d(x, MPFR_RNDN);
    *rest = isfinite(*hi) ? mpfr_cmp_d(x, *hi) : 0;
}

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

static bool same(double want, double got)
{
    return isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got);
}

Test(real, functions_of_one_number_are_mpfr_s)
{
    static const double points[] = {0,         -0.0,     0.5,       -0.5,  1,      -1,
                                    2.5,       -2.5,     1e-9,      700.1, 1e-300, 0x1p900,
                                    -0x1.8p70, INFINITY, -INFINITY, NAN};
    mpfr_t wide;
    mpfr_init2(wide, WIDE);
    struct hc_real *x = hc_real_new(0);
    struct hc_real *close = hc_real_new_bits(0, CLOSE);
    for (size_t f = 0; f < sizeof unary / sizeof *unary; f++)
        for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
            double hi;
            int rest;
            hc_real_set(x, points[i]);
            unary[f].real(close, x);
            unary[f].real(x, x);
            mpfr_set_d(wide, points[i], MPFR_RNDN);
            unary[f].mpfr(wide, wide, MPFR_RNDN);
            split(wide, &hi, &rest);
            struct hc_exact got = hc_real_exact(x);
            cr_assert(same(hi, got.hi), "%s(%a): want %a, got %a", unary[f].name, points[i], hi,
                      got.hi);
            /* exp(1e-300) is 1 to 256 bits. */
            cr_assert(sign(got.lo) == rest || fabs(points[i]) < 0x1p-200 || fabs(points[i]) > 99,
                      "%s(%a)", unary[f].name, points[i]);
            cr_assert(same(hi, hc_real_double(close)), "%s(%a) to 53 bits", unary[f].name,
                      points[i]);
        }
    mpfr_clear(wide);
    hc_real_free(x);
    hc_real_free(close);
}

Test(real, an_angle_of_many_digits_is_nan)
{
    struct hc_real *x = hc_real_new(0x1.fffffffffffffp1023);
    struct hc_real *y = hc_real_new(0);
    hc_real_sin(y, x);
    cr_assert_not(hc_real_is_nan(y));
    hc_real_mul(x, x, x);
    hc_real_sin(y, x);
    cr_assert(hc_real_is_nan(y));
    hc_real_cos(y, x);
    cr_assert(hc_real_is_nan(y));
    hc_real_free(x);
    hc_real_free(y);
}

/* 1/3 to 24 bits is 0xaaaaab * 2^-25. 3 * (that) - 1 is 2^-25 by fma, and 0 by two roundings. */
Test(real, results_take_the_bits_of_their_destination_and_fma_rounds_once)
{
    struct hc_real *one = hc_real_new(1);
    struct hc_real *three = hc_real_new(3);
    struct hc_real *minus_one = hc_real_new(-1);
    struct hc_real *third = hc_real_new_bits(0, 24);
    struct hc_real *product = hc_real_new_bits(0, 24);
    hc_real_div(third, one, three);
    cr_assert_eq(hc_real_double(third), 0xaaaaab * 0x1p-25);
    hc_real_mul(product, third, three);
    cr_assert_eq(hc_real_double(product), 1);
    hc_real_fma(product, third, three, minus_one);
    cr_assert_eq(hc_real_double(product), 0x1p-25);
    hc_real_sub(third, third, minus_one); /* 4/3 has an ulp of 2^-23 */
    cr_assert_eq(hc_real_double(third), 0xaaaaab * 0x1p-23);
    hc_real_pi(one);
    struct hc_exact pi = hc_real_exact(one);
    cr_assert_eq(pi.hi, 0x1.921fb54442d18p+1);
    cr_assert_float_eq(pi.lo, 0x1.1a62633145c07p-53, 0x1p-100);
    hc_real_free(one);
    hc_real_free(three);
    hc_real_free(minus_one);
    hc_real_free(third);
    hc_real_free(product);
}

Test(real, a_text_of_a_user_s_may_be_no_number)
{
    static const struct {
        const char *text;
        bool is_number;
        double value;
    } rows[] = {{"1e-4", true, 1e-4},    {"-.5", true, -0.5},   {"1e400", true, INFINITY},
                {"inf", true, INFINITY}, {"nan", true, NAN},    {"", false, NAN},
                {"1e-4x", false, NAN},   {"abc", false, NAN},   {"1 2", false, NAN},
                {"0x1p3", true, 8},      {"-0x.8", true, -0.5}, {"0X1F", true, 31},
                {"0x", false, NAN},      {"0x1p", false, NAN},  {"0x1.8q", false, NAN}};
    struct hc_real *x = hc_real_new(7);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(hc_real_read(x, rows[i].text, NULL), rows[i].is_number, "'%s'", rows[i].text);
        cr_assert(same(rows[i].value, hc_real_double(x)), "'%s'", rows[i].text);
    }
    hc_real_read(x, "1e400", NULL);
    cr_assert_not(hc_real_is_inf(x));
    hc_real_free(x);
}

Test(real, compares_beyond_doubles_and_tells_nan_apart)
{
    struct hc_real *a = hc_real_new(1);
    struct hc_real *b = hc_real_new(0x1p-200);
    hc_real_add(b, b, a);
    cr_assert_lt(hc_real_compare(a, b), 0);
    cr_assert_gt(hc_real_compare(b, a), 0);
    cr_assert_eq(hc_real_compare(a, a), 0);
    cr_assert_not(hc_real_is_nan(a) || hc_real_is_inf(a));
    hc_real_set(b, -INFINITY);
    cr_assert(hc_real_is_inf(b) && hc_real_compare(a, b) > 0);
    hc_real_set(b, NAN);
    cr_assert(hc_real_is_nan(b) && hc_real_compare(a, b) == 0 && hc_real_compare(b, b) == 0);
    hc_real_free(a);
    hc_real_free(b);
}

/* 1 + 2^-11 lies half way between two numbers of fp16; the text's last digit is 10^-100. */
Test(real, a_decimal_next_to_a_tie_keeps_its_side)
{
    static const char zeros[] =
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000";
    char text[160];
    bool exact;
    struct hc_real *x = hc_real_new(0);
    (void)snprintf(text, sizeof text, "1.00048828125%s1", zeros);
    cr_assert(hc_real_read(x, text, &exact) && !exact);
    cr_assert_eq(hc_real_bits(x, HC_FP16, HC_NEAREST), 0x3c01);
    cr_assert(hc_real_read(x, "1.00048828125", &exact) && exact);
    cr_assert_eq(hc_real_bits(x, HC_FP16, HC_NEAREST), 0x3c00);
    hc_real_free(x);
}

/* (1 + 2^-11)^(1 + 2^-300) is above the middle of two numbers of fp16 by 2^-311. */
Test(real, a_power_next_to_a_tie_keeps_its_side)
{
    struct hc_real *x = hc_real_new(1 + 0x1p-11);
    struct hc_real *y = hc_real_new_bits(0x1p-300, 400);
    struct hc_real *one = hc_real_new(1);
    hc_real_add(y, y, one);
    cr_assert_neq(hc_real_power(x, x, y), 0);
    cr_assert_eq(hc_real_bits(x, HC_FP16, HC_NEAREST), 0x3c01);
    hc_real_set(x, 1 + 0x1p-11);
    cr_assert_eq(hc_real_power(x, x, one), 0);
    cr_assert_eq(hc_real_bits(x, HC_FP16, HC_NEAREST), 0x3c00);
    cr_assert(!hc_real_is_zero(x) && hc_real_round(x, x) == 0);
    hc_real_sub(x, x, one);
    cr_assert(hc_real_is_zero(x));
    hc_real_free(x);
    hc_real_free(y);
    hc_real_free(one);
}

Test(real, says_whether_a_result_is_exact)
{
    struct hc_real *x = hc_real_new(3);
    struct hc_real *y = hc_real_new(0);
    cr_assert_eq(hc_real_mul(y, x, x), 0);
    cr_assert_neq(hc_real_div(y, y, x) | hc_real_sqrt(y, x), 0);
    cr_assert_eq(hc_real_pow(y, x, 100), 0);
    cr_assert_neq(hc_real_pow(y, x, -1), 0);
    hc_real_free(x);
    hc_real_free(y);
}
