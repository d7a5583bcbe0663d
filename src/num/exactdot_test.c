#include "num/exactdot.h"

#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>

#include "num/bits.h"
#include "num/rng.h"

enum { MAX_TERMS = 4096 };

static uint16_t x[MAX_TERMS];
static uint16_t y[MAX_TERMS];

static void sum(int n, double *hi, double *lo, double *magnitude)
{
    struct hc_exact_dot dot = {0};
    for (int i = 0; i < n; i++)
        hc_exact_dot_add(&dot, x[i], y[i]);
    hc_exact_dot_end(&dot, hi, lo, magnitude);
}

/* 200 bits hold every sum of 2^27 products exactly. */
static void mpfr_sum_of(int n, double *hi, double *lo, double *magnitude)
{
    mpfr_t a;
    mpfr_t b;
    mpfr_t m;
    mpfr_inits2(200, a, b, m, (mpfr_ptr)0);
    mpfr_set_ui(a, 0, MPFR_RNDN);
    mpfr_set_ui(m, 0, MPFR_RNDN);
    for (int i = 0; i < n; i++) {
        mpfr_set_flt(b, hc_fp16_value(x[i]), MPFR_RNDN);
        mpfr_mul_d(b, b, (double)hc_fp16_value(y[i]), MPFR_RNDN);
        mpfr_add(a, a, b, MPFR_RNDN);
        mpfr_abs(b, b, MPFR_RNDN);
        mpfr_add(m, m, b, MPFR_RNDN);
    }
    *hi = mpfr_get_d(a, MPFR_RNDN);
    *magnitude = mpfr_get_d(m, MPFR_RNDN);
    mpfr_sub_d(a, a, *hi, MPFR_RNDN);
    *lo = mpfr_get_d(a, MPFR_RNDN);
    mpfr_clears(a, b, m, (mpfr_ptr)0);
}

static void same(int n, const char *what)
{
    double want[3];
    double got[3];
    mpfr_sum_of(n, &want[0], &want[1], &want[2]);
    sum(n, &got[0], &got[1], &got[2]);
    for (int k = 0; k < 3; k++)
        cr_assert(want[k] == got[k] && (want[k] != 0 || !signbit(got[k])),
                  "%s, %d terms, %d: want %a, got %a", what, n, k, want[k], got[k]);
}

/* A finite code out of all of them, evenly. */
static uint16_t code(uint64_t stream, uint64_t i)
{
    uint16_t bits = (uint16_t)hc_random(11, stream, i);
    return (bits & 0x7c00) == 0x7c00 ? bits & 0xbfff : bits;
}

Test(exactdot, is_mpfrs_sum_bit_for_bit_on_random_codes)
{
    uint64_t next = 0;
    for (int n = 0; n < 300; n++) {
        for (int i = 0; i < n; i++, next++) {
            x[i] = code(0, next);
            y[i] = code(1, next);
        }
        same(n, "random");
    }
}

Test(exactdot, is_mpfrs_sum_where_everything_cancels_but_the_last_bit)
{
    for (uint64_t round = 0; round < 50; round++) {
        int count = 200;
        for (int i = 0; i < count; i += 2) {
            x[i] = code(2 + round, (uint64_t)i);
            y[i] = code(60 + round, (uint64_t)i);
            x[i + 1] = x[i] ^ 0x8000;
            y[i + 1] = y[i];
        }
        same(count, "cancelled to nothing");
        x[count] = y[count] = 1;
        same(count + 1, "cancelled to 2^-48");
        x[count] = 0x8001;
        same(count + 1, "cancelled to -2^-48");
    }
}

Test(exactdot, is_mpfrs_sum_on_subnormals_and_at_the_ends_of_the_range)
{
    for (uint32_t i = 0; i < MAX_TERMS; i++) {
        x[i] = (uint16_t)(hc_random(12, 0, i) & 0x83ff);
        y[i] = (uint16_t)(hc_random(12, 1, i) & 0x83ff);
    }
    same(MAX_TERMS, "subnormals");
    for (uint32_t i = 0; i < MAX_TERMS; i++)
        x[i] = y[i] = i == 7 ? 1 : 0x7bff;
    same(MAX_TERMS, "largest values");
    for (uint32_t i = 0; i < MAX_TERMS; i++)
        x[i] = i % 2 ? 0xfbff : 1;
    same(MAX_TERMS, "both ends");
    x[0] = y[0] = 0x8000;
    same(1, "zeros");
}

Test(exactdot, a_full_count_of_largest_products_does_not_overflow)
{
    struct hc_exact_dot dot = {0};
    for (int i = 0; i < HC_EXACT_DOT_TERMS; i++)
        hc_exact_dot_add(&dot, 0x7bff, 0xfbff);
    double hi;
    double lo;
    double magnitude;
    hc_exact_dot_end(&dot, &hi, &lo, &magnitude);
    cr_assert_eq(hi, -65504.0 * 65504 * 0x1p27);
    cr_assert_eq(lo, 0);
    cr_assert_eq(magnitude, -hi);
}

Test(exactdot, infinities_and_nan_follow_ieee)
{
    static const struct {
        uint16_t x[2];
        uint16_t y[2];
        double want;
    } rows[] = {
        {{0x7c00, 0x3c00}, {0x3c00, 0x3c00}, INFINITY},
        {{0x7c00, 0x3c00}, {0xbc00, 0x3c00}, -INFINITY},
        {{0x7c00, 0x7c00}, {0x3c00, 0xbc00}, NAN},
        {{0x7c00, 0x7c00}, {0x3c00, 0x0001}, INFINITY},
        {{0x7c00, 0x3c00}, {0x8000, 0x3c00}, NAN},
        {{0x3c00, 0x3c00}, {0x7e01, 0x3c00}, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double hi;
        double lo;
        double magnitude;
        memcpy(x, rows[i].x, sizeof rows[i].x);
        memcpy(y, rows[i].y, sizeof rows[i].y);
        sum(2, &hi, &lo, &magnitude);
        cr_assert(isnan(rows[i].want) ? isnan(hi) : hi == rows[i].want, "row %zu", i);
        cr_assert_eq(lo, 0);
    }
}
