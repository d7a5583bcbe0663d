#include <criterion/criterion.h>
#include <gmp.h>

#include "cli/statistics/significance.h"
#include "cli/statistics/testing.h"

static const double freedoms[] = {1, 1.5, 2, 3, 4.25, 5, 9, 17.776, 30, 100.5, 999, 4000};
enum { FREEDOMS = sizeof freedoms / sizeof *freedoms };

/* P(T >= t), t > 0, in MPFR. */
static double want_above(double t, double freedom)
{
    mpfr_t x;
    mpfr_t p;
    mpfr_inits2(BITS, x, p, (mpfr_ptr)0);
    bool small = freedom < t * t; /* the series converges fast for x <= 1/2 */
    share_of(x, t, freedom, small);
    beta_series(p, x, small ? freedom / 2 : 0.5, small ? 0.5 : freedom / 2);
    if (!small)
        mpfr_ui_sub(p, 1, p, MPFR_RNDN);
    double value = mpfr_get_d(p, MPFR_RNDN) / 2;
    mpfr_clears(x, p, (mpfr_ptr)0);
    return value;
}

Test(student, t_is_what_the_power_series_gives_in_mpfr)
{
    static const double ts[] = {0.25, 0.7, 1, 1.7, 2.92, 6.3, 12, 63.657};
    for (int f = 0; f < FREEDOMS; f++)
        for (unsigned i = 0; i < sizeof ts / sizeof *ts; i++) {
            double want = want_above(ts[i], freedoms[f]);
            double got = hc_t_below(-ts[i], freedoms[f]);
            cr_expect_float_eq(got, want, 1e-11 * want, "t %g, freedom %g: %.17g, want %.17g",
                               ts[i], freedoms[f], got, want);
            cr_expect_float_eq(hc_t_below(ts[i], freedoms[f]), 1 - want, 1e-11);
        }
}

/* Freedom 1 is Cauchy's distribution; freedom 2 has 1/2 + t / (2 sqrt(2 + t^2)). */
Test(student, t_with_one_and_two_degrees_has_its_closed_forms)
{
    for (double t = -50; t <= 50; t += 0.37) {
        cr_assert_float_eq(hc_t_below(t, 1), 0.5 + atan(t) / 3.141592653589793, 1e-14);
        cr_assert_float_eq(hc_t_below(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-14);
    }
    cr_assert_eq(hc_t_below(INFINITY, 3), 1);
    cr_assert_eq(hc_t_below(-INFINITY, 3), 0);
    cr_assert_float_eq(hc_t_below(0, 4), 0.5, 1e-16);
}

/* NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2. */
Test(student, t_quantiles_are_those_of_the_table)
{
    static const struct {
        double p;
        int freedom;
        double t;
    } table[] = {{.95, 1, 6.314},  {.95, 2, 2.920},   {.95, 4, 2.132},   {.95, 9, 1.833},
                 {.95, 30, 1.697}, {.95, 100, 1.660}, {.975, 1, 12.706}, {.975, 3, 3.182},
                 {.975, 9, 2.262}, {.975, 99, 1.984}, {.99, 7, 2.998},   {.999, 5, 5.893},
                 {.90, 10, 1.372}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        cr_assert_float_eq(hc_t_quantile(table[i].p, table[i].freedom), table[i].t, 5.1e-4,
                           "p %g, %d degrees", table[i].p, table[i].freedom);
}

Test(student, a_quantile_has_the_probability_that_it_was_asked_for)
{
    static const double ps[] = {0.5, 0.8, 0.95, 0.975, 0.999, 0.9999};
    for (int f = 0; f < FREEDOMS; f++)
        for (unsigned i = 1; i < sizeof ps / sizeof *ps; i++) {
            double t = hc_t_quantile(ps[i], freedoms[f]);
            cr_expect_float_eq(want_above(t, freedoms[f]), 1 - ps[i], 1e-9 * (1 - ps[i]));
        }
}

/* 2 (f/2)^(f/2) / Gamma(f/2) w^(f-1) exp(-f w^2 / 2). */
static double want_density(double w, double freedom)
{
    mpfr_t sum;
    mpfr_t x;
    mpfr_inits2(BITS, sum, x, (mpfr_ptr)0);
    mpfr_set_d(x, w, MPFR_RNDN);
    mpfr_log(sum, x, MPFR_RNDN);
    mpfr_mul_d(sum, sum, freedom - 1, MPFR_RNDN);
    mpfr_sqr(x, x, MPFR_RNDN);
    mpfr_mul_d(x, x, freedom / 2, MPFR_RNDN);
    mpfr_sub(sum, sum, x, MPFR_RNDN);
    mpfr_set_d(x, freedom / 2, MPFR_RNDN);
    mpfr_log(x, x, MPFR_RNDN);
    mpfr_mul_d(x, x, freedom / 2, MPFR_RNDN);
    mpfr_add(sum, sum, x, MPFR_RNDN);
    mpfr_set_d(x, freedom / 2, MPFR_RNDN);
    mpfr_lngamma(x, x, MPFR_RNDN);
    mpfr_sub(sum, sum, x, MPFR_RNDN);
    mpfr_exp(sum, sum, MPFR_RNDN);
    double value = 2 * mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clears(sum, x, (mpfr_ptr)0);
    return value;
}

Test(student, the_density_of_a_deviation_is_what_mpfr_gives)
{
    for (int f = 0; f < FREEDOMS; f++)
        for (double w = 0.125; w < 3; w += 0.25) {
            double want = want_density(w, freedoms[f]);
            cr_expect_float_eq(hc_chi_density(w, freedoms[f]), want, 2e-11 * want + 1e-300,
                               "w %g, freedom %g", w, freedoms[f]);
        }
    cr_expect_float_eq(hc_chi_density(0, 1), want_density(1e-12, 1), 1e-9);
    cr_expect_eq(hc_chi_density(0, 2), 0);
}

/* Abramowitz and Stegun, table 26.1. */
Test(student, the_normal_distribution_is_that_of_the_table)
{
    cr_expect_float_eq(hc_normal_below(0), 0.5, 1e-16);
    cr_expect_float_eq(hc_normal_below(1), 0.841344746068543, 1e-15);
    cr_expect_float_eq(hc_normal_below(2), 0.977249868051821, 1e-15);
    cr_expect_float_eq(hc_normal_below(-1), 1 - 0.841344746068543, 1e-15);
}

/* 2 sum_{k <= fewer} (n choose k) / 2^n in whole numbers, divided once. */
static double want(unsigned long first, unsigned long second)
{
    unsigned long n = first + second;
    unsigned long fewer = first < second ? first : second;
    mpz_t sum;
    mpz_t one;
    mpq_t p;
    mpz_inits(sum, one, NULL);
    mpq_init(p);
    for (unsigned long k = 0; k <= fewer; k++) {
        mpz_bin_uiui(one, n, k);
        mpz_add(sum, sum, one);
    }
    mpz_mul_2exp(sum, sum, 1);
    mpq_set_z(p, sum);
    mpq_div_2exp(p, p, n);
    double value = mpq_get_d(p);
    mpz_clears(sum, one, NULL);
    mpq_clear(p);
    return value < 1 ? value : 1;
}

Test(mcnemar, p_is_that_of_whole_numbers)
{
    static const unsigned long counts[][2] = {
        {0, 0}, {1, 0}, {0, 5}, {3, 3}, {10, 25}, {310, 345}, {600, 500}, {4000, 4200}, {1, 900}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double exact = want(counts[i][0], counts[i][1]);
        double got = hc_mcnemar((long long)counts[i][0], (long long)counts[i][1]);
        cr_expect_float_eq(got, exact, 1e-10 * exact + 1e-300, "%lu %lu: %.15g, want %.15g",
                           counts[i][0], counts[i][1], got, exact);
        cr_expect_eq(got, hc_mcnemar((long long)counts[i][1], (long long)counts[i][0]));
    }
}
