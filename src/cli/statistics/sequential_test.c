#include "cli/statistics/sequential.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "cli/statistics/significance.h"
#include "num/rng.h"

static struct hc_sequential plan_of(int looks, const int *pairs, double level)
{
    struct hc_sequential plan = {.looks = looks, .level = level};
    for (int k = 0; k < looks; k++)
        plan.pairs[k] = pairs[k];
    hc_sequential_plan(&plan);
    return plan;
}

Test(sequential, one_look_spends_the_whole_level)
{
    struct hc_sequential plan = plan_of(1, (int[]){12}, 0.05);
    cr_assert_float_eq(plan.nominal[0], 0.05, 1e-9);
}

/* The first look crosses with level n1 / N. The second crosses first with the rest: by the midpoint
   rule over the first look's sum, with the normal distribution of libm, which shares no line with
   the code under test. */
Test(sequential, two_looks_cross_first_with_what_was_spent)
{
    for (int first = 2; first < 12; first += 3) {
        struct hc_sequential plan = plan_of(2, (int[]){first, 12}, 0.05);
        cr_assert_float_eq(plan.nominal[0], 0.05 * first / 12, 1e-9);
        double z1 = hc_t_quantile(1 - plan.nominal[0], 1e9);
        double z2 = hc_t_quantile(1 - plan.nominal[1], 1e9);
        double sum = 0;
        double step = 1e-4;
        double root = sqrt(2 * acos(-1));
        for (double z = -10 + step / 2; z < z1; z += step)
            sum += step * exp(-z * z / 2) / root * 0.5 *
                   erfc((z2 * sqrt(12) - z * sqrt(first)) / sqrt(12 - first) / sqrt(2));
        cr_assert_float_eq(sum, 0.05 * (12 - first) / 12, 2e-6, "first look at %d: %.9g", first,
                           sum);
    }
}

/* Walks of normal numbers, which the plan does not know: at each look so many cross as are to. Of
   200,000 walks a share p is measured to 4 sqrt(p / 200,000). */
Test(sequential, walks_cross_each_boundary_as_often_as_the_spending_says)
{
    static const int pairs[] = {4, 6, 8, 10, 12, 16};
    enum { LOOKS = 6, WALKS = 200000 };
    struct hc_sequential plan = plan_of(LOOKS, pairs, 0.05);
    int crossed[LOOKS] = {0};
    for (int walk = 0; walk < WALKS; walk++) {
        double sum = 0;
        int n = 0;
        for (int k = 0; k < LOOKS; k++) {
            for (; n < pairs[k]; n++)
                sum += hc_random_normal(77, (uint64_t)walk, (uint64_t)n);
            if (hc_normal_below(-sum / sqrt(n)) < plan.nominal[k]) {
                crossed[k]++;
                break;
            }
        }
    }
    for (int k = 0; k < LOOKS; k++) {
        double want = 0.05 * (pairs[k] - (k ? pairs[k - 1] : 0)) / 16;
        cr_expect_float_eq((double)crossed[k] / WALKS, want, 4 * sqrt(want / WALKS), "look %d", k);
    }
}

/* What counts: a recipe that loses just the margin is called equivalent in at most 5 of 100
   experiments, whatever its spread, with t tests, too. 20,000 experiments measure 5 % to 0.6
   points (four deviations). Naive looks at 5 % each are wrong in more, and this test sees it. */
Test(sequential, a_loss_of_the_margin_passes_as_rarely_as_the_level_says)
{
    enum { EXPERIMENTS = 20000 };
    struct hc_sequential plan = plan_of(6, (int[]){4, 6, 8, 10, 12, 16}, 0.05);
    double slack = 4 * sqrt(0.05 * 0.95 / EXPERIMENTS);
    double spreads[] = {0.1, 0.3, 0.6};
    for (int i = 0; i < (getenv("HALFCHECK_SHORT_TESTS") ? 1 : 3); i++) {
        struct hc_sequential_odds odds =
            hc_sequential_simulate(&plan, -0.5, spreads[i], 0.5, EXPERIMENTS, 3);
        cr_expect_leq(odds.equivalent, 0.05 + slack, "spread %g: %g", spreads[i], odds.equivalent);
        cr_expect_leq(odds.different, 0.05 + slack, "spread %g: %g", spreads[i], odds.different);
    }
    struct hc_sequential naive = plan;
    for (int k = 0; k < naive.looks; k++)
        naive.nominal[k] = 0.05;
    cr_assert_gt(hc_sequential_simulate(&naive, -0.5, 0.3, 0.5, EXPERIMENTS, 3).equivalent,
                 0.05 + slack);
}

Test(sequential, the_power_for_no_difference_is_what_one_look_more_can_only_raise)
{
    struct hc_sequential plan = plan_of(6, (int[]){4, 6, 8, 10, 12, 16}, 0.05);
    struct hc_sequential_odds odds = hc_sequential_simulate(&plan, 0, 0.3, 0.5, 4000, 5);
    cr_assert_gt(odds.equivalent, 0.99);
    cr_assert_lt(odds.pairs, 9);
    cr_assert_float_eq(odds.equivalent + odds.different + odds.undecided, 1, 1e-12);
}

Test(sequential, a_decision_stays_whatever_comes_after_it)
{
    struct hc_sequential plan = plan_of(3, (int[]){3, 5, 8}, 0.05);
    double zero[8] = {0};
    double x[8] = {0.01, -0.01, 0.02, 9, -9, 9, -9, 9};
    int look;
    struct hc_difference d = hc_sequential_paired(&plan, x, zero, 2, 0.5, 0, &look);
    cr_assert_eq(look, -1);
    cr_assert_eq(d.verdict, HC_UNDECIDED);
    cr_assert_eq(d.n, 2);
    cr_assert(isnan(d.low));
    cr_assert_eq(hc_sequential_next(&plan, x, zero, 2, 0.5, 0), 3);
    d = hc_sequential_paired(&plan, x, zero, 8, 0.5, 0, &look);
    cr_assert_eq(look, 0);
    cr_assert_eq(d.verdict, HC_EQUIVALENT);
    cr_assert_eq(d.n, 3);
    cr_assert_eq(hc_sequential_next(&plan, x, zero, 8, 0.5, 0), 0);
    double wide[8] = {1, -1, 1, -1, 1, -1, 1, -1};
    cr_assert_eq(hc_sequential_next(&plan, wide, zero, 4, 0.5, 0), 5);
    cr_assert_eq(hc_sequential_next(&plan, wide, zero, 8, 0.5, 0), 0);
}
