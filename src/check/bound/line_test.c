/* The line of sums: no sum to nearest of random numbers comes to it, what is systematic crosses it,
   and its chance is the one that is stated. */
#include "check/bound/line.h"

#include <criterion/criterion.h>
#include <math.h>

#include "check/bound/bound.h"
#include "num/rng.h"

static const struct hc_accumulator nearest = {.precision = 24, .block = 1};

enum { TERMS = 4096, TRIALS = 400 };

static struct hc_call sum_of(int64_t n)
{
    struct hc_call call = {.op = HC_OP_sum, .params.reduce = {HC_FP32}};
    call.in[HC_REDUCE_X] = hc_tensor1(HC_FP32, n, NULL);
    call.out[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, NULL);
    return call;
}

typedef float addition(float x, float y);

static float rounded(float x, float y)
{
    return x + y;
}

static float cut(float x, float y)
{
    return (float)hc_decode(HC_FP32, hc_encode(HC_FP32, (double)x + (double)y, 0, HC_TOWARD_ZERO));
}

/* error / line of a sum of positive or signed random numbers, one after the other; fp64 is good
   enough for its real value. */
static double ratio(uint64_t trial, bool positive, addition *add)
{
    struct hc_call call = sum_of(TERMS);
    struct hc_exact want = {0};
    float sum = 0;
    for (uint64_t i = 0; i < TERMS; i++) {
        float x = (float)(positive ? 0.5 + hc_random_uniform(11, trial, i) / 2
                                   : hc_random_normal(11, trial, i));
        sum = add(sum, x);
        want.hi += (double)x;
        want.magnitude += fabs((double)x);
    }
    return fabs((double)sum - want.hi) / hc_line(&call, &nearest, 0, &want);
}

Test(line, no_sum_to_nearest_comes_to_it)
{
    double worst = 0;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        worst = fmax(worst, ratio(trial, true, rounded));
        cr_assert_leq(ratio(trial, false, rounded), 1);
    }
    cr_assert_leq(worst, 1);
    cr_assert_gt(worst, 0.05, "%g", worst); /* of 400 roots of n thirds the largest, against 8.4 */
}

Test(line, positive_numbers_that_are_cut_cross_it)
{
    for (uint64_t trial = 0; trial < 20; trial++)
        cr_assert_gt(ratio(trial, true, cut), 1);
}

Test(line, it_is_at_an_eighth_of_the_bound_of_4096_terms_and_beyond_that_of_33)
{
    struct hc_exact want = {1, 0, 1};
    struct hc_call large = sum_of(4096);
    struct hc_call small = sum_of(33);
    double at = hc_line(&large, &nearest, 0, &want) /
                hc_bound(&(struct hc_element){&large, 0, 0}, &nearest, &want);
    cr_assert(at > 0.12 && at < 0.14, "%g", at);
    cr_assert_gt(hc_line(&small, &nearest, 0, &want),
                 hc_bound(&(struct hc_element){&small, 0, 0}, &nearest, &want));
}

/* The theorem's chance, from the line itself: k R 2 exp(-lambda^2 / 2) is C, and lambda is the line
   without sqrt(k) u. */
Test(line, its_chance_over_all_results_of_a_thousand_runs_is_the_one_stated)
{
    static const int64_t lengths[] = {33, 257, 4099, 100003};
    for (int i = 0; i < 4; i++) {
        struct hc_exact want = {1, 0, 1};
        struct hc_call call = sum_of(lengths[i]);
        double k = (double)lengths[i] + 1;
        double lambda = hc_line(&call, &nearest, 0, &want) / (sqrt(k) * 0x1p-24);
        double chance = 2 * k * HC_LINE_RESULTS * exp(-lambda * lambda / 2);
        cr_assert(chance > HC_LINE_CHANCE * 0.97 && chance <= HC_LINE_CHANCE, "%g", chance);
    }
}

Test(line, there_is_none_where_rounding_is_no_accident)
{
    struct hc_exact want = {1, 0, 1};
    struct hc_call call = sum_of(4096);
    struct hc_accumulator cuts = {.precision = 24, .block = 16, .extra_bits = 2, .truncates = true};
    cr_assert(isfinite(hc_line(&call, &cuts, 0, &want))); /* of fp32: no matrix unit */
    call.in[HC_FIRST].format = HC_FP16;
    cr_assert(isinf(hc_line(&call, &cuts, 0, &want)));
    call.params.reduce.accumulator = HC_FP16;
    cr_assert(isinf(hc_line(&call, &nearest, 0, &want)));
    call.op = HC_OP_xent;
    cr_assert(isinf(hc_line(&call, &nearest, 0, &want)));
}
