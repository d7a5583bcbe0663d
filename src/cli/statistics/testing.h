/* The incomplete beta function in MPFR, from its power series, which the code under test does not
   use. Everything has 256 bits. */
#ifndef HC_CLI_STATISTICS_TESTING_H
#define HC_CLI_STATISTICS_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>

enum { BITS = 256 };

/* log B(a, b). */
static inline void log_beta(mpfr_t out, double a, double b)
{
    mpfr_t x;
    mpfr_init2(x, BITS);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_lngamma(out, x, MPFR_RNDN);
    mpfr_set_d(x, b, MPFR_RNDN);
    mpfr_lngamma(x, x, MPFR_RNDN);
    mpfr_add(out, out, x, MPFR_RNDN);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_add_d(x, x, b, MPFR_RNDN);
    mpfr_lngamma(x, x, MPFR_RNDN);
    mpfr_sub(out, out, x, MPFR_RNDN);
    mpfr_clear(x);
}

/* I_x(a, b) = x^a (1-x)^b / (a B(a, b)) sum_k (a+b)_k / (a+1)_k x^k (DLMF 8.17.8). */
static inline void beta_series(mpfr_t out, const mpfr_t x, double a, double b)
{
    mpfr_t front;
    mpfr_t term;
    mpfr_t other;
    mpfr_inits2(BITS, front, term, other, (mpfr_ptr)0);
    log_beta(front, a, b);
    mpfr_neg(front, front, MPFR_RNDN);
    mpfr_log(term, x, MPFR_RNDN);
    mpfr_mul_d(term, term, a, MPFR_RNDN);
    mpfr_add(front, front, term, MPFR_RNDN);
    mpfr_ui_sub(other, 1, x, MPFR_RNDN);
    mpfr_log(term, other, MPFR_RNDN);
    mpfr_mul_d(term, term, b, MPFR_RNDN);
    mpfr_add(front, front, term, MPFR_RNDN);
    mpfr_exp(front, front, MPFR_RNDN);
    mpfr_div_d(front, front, a, MPFR_RNDN);
    mpfr_set_ui(term, 1, MPFR_RNDN);
    mpfr_set_ui(out, 0, MPFR_RNDN);
    for (int k = 0; k < 20000; k++) {
        mpfr_add(out, out, term, MPFR_RNDN);
        mpfr_mul(term, term, x, MPFR_RNDN);
        mpfr_mul_d(term, term, a + b + k, MPFR_RNDN);
        mpfr_div_d(term, term, a + 1 + k, MPFR_RNDN);
        mpfr_mul_2ui(other, term, 120, MPFR_RNDN);
        if (mpfr_cmp(other, out) < 0 && k > a + b)
            break;
    }
    mpfr_mul(out, out, front, MPFR_RNDN);
    mpfr_clears(front, term, other, (mpfr_ptr)0);
}

/* x = t^2 / (freedom + t^2), or 1 minus that. */
static inline void share_of(mpfr_t x, double t, double freedom, bool rest)
{
    mpfr_t whole;
    mpfr_init2(whole, BITS);
    mpfr_set_d(x, t, MPFR_RNDN);
    mpfr_sqr(x, x, MPFR_RNDN);
    mpfr_add_d(whole, x, freedom, MPFR_RNDN);
    if (rest)
        mpfr_set_d(x, freedom, MPFR_RNDN);
    mpfr_div(x, x, whole, MPFR_RNDN);
    mpfr_clear(whole);
}

#endif
