#include "cli/training/statistics.h"

#include <criterion/criterion.h>
#include <math.h>

/* Freedom 1 is Cauchy's distribution; freedom 2 has 1/2 + t / (2 sqrt(2 + t^2)). */
Test(statistics, t_with_one_and_two_degrees_has_its_closed_forms)
{
    for (double t = -50; t <= 50; t += 0.37) {
        cr_assert_float_eq(hc_t_below(t, 1), 0.5 + atan(t) / 3.141592653589793, 1e-15);
        cr_assert_float_eq(hc_t_below(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-15);
    }
    cr_assert_eq(hc_t_below(INFINITY, 3), 1);
    cr_assert_eq(hc_t_below(0, 4), 0.5);
}

/* NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2. */
Test(statistics, t_quantiles_are_those_of_the_table)
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

/* Student (1908), The probable error of a mean, section IX: hours of sleep gained with two drugs;
   R's t.test gives t = -4.0621, p = 0.002833, 95 % interval -2.4598858 .. -0.7001142. */
static const double drug1[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
static const double drug2[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

Test(statistics, students_own_pairs_give_his_result)
{
    struct hc_paired d = hc_paired(drug1, drug2, 10, 0.5);
    double error = d.deviation / sqrt(10);
    cr_assert_float_eq(d.mean, -1.58, 1e-12);
    cr_assert_float_eq(d.mean / error, -4.0621, 5e-5);
    cr_assert_float_eq(2 * hc_t_below(d.mean / error, 9), 0.002833, 5e-7);
    cr_assert_float_eq(d.mean - hc_t_quantile(.975, 9) * error, -2.4598858, 5e-8);
    cr_assert_float_eq(d.mean + hc_t_quantile(.975, 9) * error, -0.7001142, 5e-8);
    cr_assert_eq(d.verdict, HC_DIFFERENT);
}

/* With mean 0 and error e both tests have t = margin / e. */
Test(statistics, tost_decides_as_the_90_percent_interval_does)
{
    static const double zero[4] = {0, 0, 0, 0};
    static const double even[4] = {1, -1, 1, -1};
    double error = sqrt(4.0 / 3) / 2;
    double edge = 2.353363 * error; /* t of .95 with 3 degrees */
    cr_assert_eq(hc_paired(even, zero, 4, edge * 1.001).verdict, HC_EQUIVALENT);
    cr_assert_eq(hc_paired(even, zero, 4, edge * 0.999).verdict, HC_UNDECIDED);
    cr_assert_float_eq(hc_paired(even, zero, 4, edge).p, 0.05, 1e-6);
    cr_assert_float_eq(hc_paired(even, zero, 4, edge).high, edge, 1e-6);
    for (double margin = 0.05; margin < 4; margin += 0.05) {
        struct hc_paired d = hc_paired(drug1, drug2, 10, margin);
        cr_assert_eq(d.verdict == HC_EQUIVALENT, d.p < 0.05);
        cr_assert_eq(d.verdict == HC_DIFFERENT, d.high < -margin);
    }
}

Test(statistics, no_verdict_from_fewer_than_two_pairs_or_from_nan)
{
    static const double a[] = {1, NAN};
    static const double b[] = {0.5, 1};
    cr_assert_eq(hc_paired(a, b, 0, 9).verdict, HC_UNDECIDED);
    cr_assert_eq(hc_paired(a, b, 1, 9).verdict, HC_UNDECIDED);
    cr_assert_eq(hc_paired(a, b, 1, 9).mean, 0.5);
    cr_assert_eq(hc_paired(a, b, 2, 9).verdict, HC_UNDECIDED);
}

Test(statistics, equal_differences_need_no_luck)
{
    static const double a[] = {1, 2, 3};
    static const double b[] = {0.5, 1.5, 2.5};
    cr_assert_eq(hc_paired(a, a, 3, 0.1).verdict, HC_EQUIVALENT);
    cr_assert_eq(hc_paired(a, b, 3, 0.6).verdict, HC_EQUIVALENT);
    cr_assert_eq(hc_paired(a, b, 3, 0.4).verdict, HC_DIFFERENT);
    cr_assert_eq(hc_paired(a, b, 3, 0.4).p, 1);
}

/* Two independent runs of spread 0.15 differ with spread 0.15 sqrt 2. */
Test(statistics, a_spread_of_0_15_needs_18_pairs_for_0_15_and_5_for_0_3)
{
    cr_assert_eq(hc_pairs_needed(0.15 * sqrt(2), 0.15), 18);
    cr_assert_eq(hc_pairs_needed(0.15 * sqrt(2), 0.30), 5);
    cr_assert_eq(hc_pairs_needed(0, 1), 2);
}
