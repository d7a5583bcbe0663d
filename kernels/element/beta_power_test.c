#include "kernels/element/beta_power.h"

#include <criterion/criterion.h>
#include <math.h>

#include "reference.h"

/* The two bounds of beta_power.h, for betas as the fp64 numbers that they are. */
Test(power, errors_stay_within_the_bounds_that_are_argued)
{
    static const double betas[] = {0, 0.5, 0.85, 0.9, 0.95, 0.99, 0.999, 0.9999, 0x1.fffffep-1};
    static const long steps[] = {1, 2, 3, 7, 10, 100, 999, 1000, 65535, 1000003, 16777216};
    struct hc_real *beta = hc_real_new(0);
    struct hc_real *power = hc_real_new(0);
    struct hc_real *got = hc_real_new(0);
    for (int b = 0; b < 9; b++)
        for (int s = 0; s < 11; s++) {
            hc_real_set(beta, betas[b]);
            hc_real_pow(power, beta, steps[s]);
            double want = hc_real_double(power);
            hc_real_set(got, hc_beta_power(betas[b], (float)steps[s]));
            hc_real_sub(got, got, power);
            double error = fabs(hc_real_double(got));
            double tiny = ldexp((double)steps[s], -1074);
            cr_assert_leq(error, (double)steps[s] * 0x1p-53 * want + tiny);
            cr_assert_leq(error, 0x1p-53 * betas[b] / (1 - betas[b]) * (1 - want) + tiny);
        }
    hc_real_free(beta);
    hc_real_free(power);
    hc_real_free(got);
}

Test(power, the_first_power_is_beta_itself)
{
    cr_assert_eq(hc_beta_power(0.999, 1), 0.999);
    cr_assert_eq(hc_beta_power(0.5, 10), 0x1p-10);
}
