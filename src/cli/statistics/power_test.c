#include "cli/statistics/power.h"

#include "cli/statistics/significance.h"
#include "cli/statistics/testing.h"

/* Lenth's (1989) series, algorithm AS 243, for t >= 0:
   P(T' <= t) = Phi(-d) + 1/2 sum_j (p_j I_x(j + 1/2, f/2) + q_j I_x(j + 1, f/2)),
   p_j = e^(-d^2/2) (d^2/2)^j / j!, q_j = d / sqrt 2 e^(-d^2/2) (d^2/2)^j / Gamma(j + 3/2). */
static double want_noncentral(double t, double freedom, double d)
{
    mpfr_t x;
    mpfr_t half;
    mpfr_t term;
    mpfr_t weight;
    mpfr_t sum;
    mpfr_inits2(BITS, x, half, term, weight, sum, (mpfr_ptr)0);
    share_of(x, t, freedom, false);
    mpfr_set_d(half, d, MPFR_RNDN);
    mpfr_sqr(half, half, MPFR_RNDN);
    mpfr_div_2ui(half, half, 1, MPFR_RNDN);
    mpfr_set_d(sum, 0, MPFR_RNDN);
    for (int odd = 0; odd < 2; odd++) {
        mpfr_neg(weight, half, MPFR_RNDN);
        mpfr_exp(weight, weight, MPFR_RNDN);
        if (odd) { /* Gamma(3/2) = sqrt(pi) / 2 */
            mpfr_const_pi(term, MPFR_RNDN);
            mpfr_div_2ui(term, term, 1, MPFR_RNDN);
            mpfr_rec_sqrt(term, term, MPFR_RNDN);
            mpfr_mul_d(term, term, d, MPFR_RNDN);
            mpfr_mul(weight, weight, term, MPFR_RNDN);
        }
        for (int j = 0; j < 400; j++) {
            beta_series(term, x, odd ? j + 1 : j + 0.5, freedom / 2);
            mpfr_mul(term, term, weight, MPFR_RNDN);
            mpfr_add(sum, sum, term, MPFR_RNDN);
            mpfr_mul(weight, weight, half, MPFR_RNDN);
            mpfr_div_d(weight, weight, odd ? j + 1.5 : j + 1, MPFR_RNDN);
            if (mpfr_cmp_d(weight, 1e-30) < 0 && j > d * d)
                break;
        }
    }
    mpfr_div_2ui(sum, sum, 1, MPFR_RNDN);
    double value = mpfr_get_d(sum, MPFR_RNDN) + 0.5 * erfc(d / sqrt(2));
    mpfr_clears(x, half, term, weight, sum, (mpfr_ptr)0);
    return value;
}

Test(power, the_noncentral_t_is_what_lenths_series_gives_in_mpfr)
{
    static const double freedoms[] = {1, 2, 4, 9, 38};
    static const double ts[] = {0.5, 1.833, 2.92, 5};
    for (int f = 0; f < 5; f++)
        for (int i = 0; i < 4; i++)
            for (double d = 0; d < 6; d += 1.75) {
                double want = want_noncentral(ts[i], freedoms[f], d);
                double got = hc_noncentral_t_below(ts[i], freedoms[f], d);
                cr_expect_float_eq(got, want, 1e-9, "t %g, freedom %g, shift %g: %.15g, want %.15g",
                                   ts[i], freedoms[f], d, got, want);
            }
}

Test(power, without_a_shift_it_is_students_t)
{
    for (int freedom = 1; freedom < 500; freedom = 2 * freedom + freedom % 3)
        for (double t = -4; t <= 4; t += 0.5)
            cr_expect_float_eq(hc_noncentral_t_below(t, freedom, 0), hc_t_below(t, freedom), 1e-9,
                               "t %g, freedom %d", t, freedom);
}

/* PowerTOST (Labes, Schuetz, Lang; R package) prints for a 2x2 crossover with the limits 0.8 and
   1.25 at the true ratio 0.95: power.TOST(CV = 0.25, n = 24) = 0.7391155, and for CV = 0.3 that
   40 subjects have a power of 0.815845 (sampleN.TOST). A difference of logarithms has there the
   error sqrt(2 log(1 + CV^2) / n) and n - 2 degrees of freedom. */
Test(power, equivalence_has_the_power_that_powertost_prints)
{
    static const struct {
        double cv;
        int n;
        double power;
        double digits;
    } table[] = {{0.25, 24, 0.7391155, 5e-8}, {0.30, 40, 0.815845, 5e-7}};
    for (int i = 0; i < 2; i++) {
        double error = sqrt(2 * log1p(table[i].cv * table[i].cv) / table[i].n);
        double got = hc_equivalence_power(log(0.95), log(1.25), error, table[i].n - 2, 0.05);
        cr_expect_float_eq(got, table[i].power, table[i].digits, "CV %g: %.9g", table[i].cv, got);
    }
}

/* At the edge of the margin the power is the level at most: it is what a wrong margin costs. */
Test(power, a_difference_as_large_as_the_margin_is_rarely_taken_for_none)
{
    for (int n = 3; n < 200; n = 2 * n)
        for (double deviation = 0.05; deviation < 3; deviation *= 2) {
            struct hc_plan_of_runs plan = {
                .margin = 0.5, .deviation = deviation, .level = 0.05, .paired = n % 4 == 3};
            cr_expect_leq(hc_planned_power(&plan, n, 0.5), 0.05 + 1e-9);
            cr_expect_leq(hc_planned_power(&plan, n, 0.6), hc_planned_power(&plan, n, 0.5));
        }
}

Test(power, the_runs_needed_have_the_power_and_one_fewer_have_not)
{
    for (int paired = 0; paired < 2; paired++)
        for (double deviation = 0.01; deviation < 20; deviation *= 1.7) {
            struct hc_plan_of_runs plan = {.margin = 0.5,
                                           .deviation = deviation,
                                           .power = 0.8,
                                           .level = 0.05,
                                           .paired = paired};
            int n = hc_runs_needed(&plan);
            cr_expect_geq(hc_planned_power(&plan, n, 0), 0.8);
            cr_expect(n == HC_MIN_PLANNED || hc_planned_power(&plan, n - 1, 0) < 0.8);
        }
    struct hc_plan_of_runs hopeless = {
        .margin = 0.001, .deviation = 100, .power = 0.8, .level = 0.05};
    cr_expect_eq(hc_runs_needed(&hopeless), HC_MAX_PLANNED);
}

/* NIST/SEMATECH e-Handbook, 1.3.6.7.4: chi^2 of 2 degrees is below 0.103 and 5.991 at 5 and 95 %,
   of 9 below 3.325 and 16.919. */
Test(power, the_range_of_a_deviation_is_that_of_chi_square)
{
    double range[2];
    hc_deviation_range(1, 2, 0.05, range);
    cr_expect_float_eq(range[0], sqrt(2 / 5.991), 1e-4);
    cr_expect_float_eq(range[1], sqrt(2 / 0.10259), 1e-4);
    hc_deviation_range(3, 9, 0.05, range);
    cr_expect_float_eq(range[0], 3 * sqrt(9 / 16.919), 1e-4);
    cr_expect_float_eq(range[1], 3 * sqrt(9 / 3.3251), 1e-4);
    cr_expect_float_eq(hc_chi_below(1, 2), 1 - exp(-1), 1e-9);
}

/* n pairs have n - 1 degrees and the error of their mean; two sets have 2 (n - 1) and that of a
   difference. */
Test(power, a_plan_has_the_freedom_and_the_error_of_its_tests)
{
    struct hc_plan_of_runs plan = {.margin = 0.5, .deviation = 0.4, .level = 0.05, .paired = 1};
    cr_expect_eq(hc_planned_power(&plan, 6, 0.1),
                 hc_equivalence_power(0.1, 0.5, 0.4 * sqrt(1.0 / 6), 5, 0.05));
    plan.paired = 0;
    cr_expect_eq(hc_planned_power(&plan, 6, 0.1),
                 hc_equivalence_power(0.1, 0.5, 0.4 * sqrt(2.0 / 6), 10, 0.05));
}
