#include "cli/statistics/mcnemar.h"

#include <criterion/criterion.h>
#include <gmp.h>

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
