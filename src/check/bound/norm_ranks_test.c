/* The bounds of batch statistics over ranks: right kernels stay within them in every order, and
   come so near to them that bounds much wider, or without one of their terms, are found. */
#include "check/bound/testing_ranks.h"

#include <criterion/criterion.h>

#include "check/bound/bound.h"
#include "num/rng.h"

enum { MOST_RANKS = 8, OUTPUTS = 5, DRAWS = 4000 };

static const char *const output_names[OUTPUTS] = {"mean", "variance", "invstd", "running mean",
                                                  "running variance"};

static const struct hc_accumulator sums = {.precision = 24, .block = 1};

/* One channel of R ranks. */
struct draw {
    float means[MOST_RANKS];
    float variances[MOST_RANKS];
    int32_t counts[MOST_RANKS];
    float running[2];
    float got[OUTPUTS];
    int ranks;
};

/* Means as far as 2^17 from 0, and from each other anything between that and 2^-24 of it. */
static void draw_ranks(struct draw *d, uint64_t n)
{
    double far = ldexp(1 + hc_random_uniform(1, 0, n), (int)(hc_random(1, 1, n) >> 32) % 18);
    double apart = ldexp(far, -((int)(hc_random(1, 2, n) >> 40) % 25));
    double least = ldexp(apart, -((int)(hc_random(1, 3, n) >> 40) % 8));
    d->ranks = 1 + (int)(hc_random(1, 4, n) >> 40) % MOST_RANKS;
    for (int r = 0; r < MOST_RANKS; r++) {
        uint64_t at = n * MOST_RANKS + (uint64_t)r;
        d->means[r] = (float)(far + apart * (hc_random_uniform(2, 0, at) - 0.5));
        d->variances[r] = (float)(least * least * hc_random_uniform(2, 1, at));
        d->counts[r] = 1 + (int32_t)(hc_random(2, 2, at) >> 40) % 190;
    }
    d->running[0] = (float)far;
    d->running[1] = (float)(apart * apart);
}

static struct hc_call call_of(struct draw *d)
{
    struct hc_call call = {
        .op = HC_OP_bn_combine,
        .in = {[HC_BN_COMBINE_MEANS] = hc_tensor2(HC_FP32, d->ranks, 1, d->means),
               [HC_BN_COMBINE_VARIANCES] = hc_tensor2(HC_FP32, d->ranks, 1, d->variances),
               [HC_BN_COMBINE_COUNTS] = hc_tensor1(HC_I32, d->ranks, d->counts),
               [HC_BN_COMBINE_MEAN] = hc_tensor1(HC_FP32, 1, &d->running[0]),
               [HC_BN_COMBINE_VARIANCE] = hc_tensor1(HC_FP32, 1, &d->running[1])},
        .params.bn = {.eps = 1e-5, .momentum = 0.5}};
    for (int o = 0; o < OUTPUTS; o++)
        call.out[o] = hc_tensor1(HC_FP32, 1, &d->got[o]);
    return call;
}

typedef double bound_of(const struct hc_element *e, const struct hc_accumulator *accumulator,
                        const struct hc_exact *want);

/* Kernels of that manner do not leave the bound in any draw, and of each output the worst comes to
   `near` of it. */
static void held(enum manner order, bound_of *bound, double near)
{
    double worst[OUTPUTS] = {0};
    struct draw d;
    manner = order;
    for (uint64_t n = 0; n < DRAWS; n++) {
        draw_ranks(&d, n);
        struct hc_call call = call_of(&d);
        other_bn_combine(NULL, &call);
        for (int o = 0; o < OUTPUTS; o++) {
            struct hc_element e = {&call, o, 0};
            struct hc_exact want = hc_reference_value(&call, o, 0);
            double error = hc_bound_error(HC_FP32, &want, (double)d.got[o]);
            double most = bound(&e, &sums, &want);
            cr_assert(error <= most, "%s, %s, draw %d: %g > %g", orders_of_ranks[order],
                      output_names[o], (int)n, error, most);
            worst[o] = fmax(worst[o], error / most);
        }
    }
    for (int o = 0; o < OUTPUTS; o++)
        cr_expect(worst[o] >= near, "%s, %s: %g of the bound", orders_of_ranks[order],
                  output_names[o], worst[o]);
}

Test(norm_ranks, two_passes_stay_within_the_bound_and_come_near_it)
{
    held(TEXTBOOK, hc_bound, 0.1);
}

Test(norm_ranks, every_order_stays_within_the_bound_of_any_and_comes_near_it)
{
    for (enum manner order = TEXTBOOK; order < RIGHT_MANNERS; order++)
        held(order, hc_bound_any_order, 0.01);
}

/* What one channel's output is off by, its bound, and its real value. */
struct judged {
    double error, most, want;
};

static struct judged judged(struct draw *d, enum manner order, bound_of *bound, int out)
{
    struct hc_call call = call_of(d);
    struct hc_element e = {&call, out, 0};
    struct hc_exact want = hc_reference_value(&call, out, 0);
    manner = order;
    other_bn_combine(NULL, &call);
    return (struct judged){hc_bound_error(HC_FP32, &want, (double)d->got[out]),
                           bound(&e, &sums, &want), want.hi};
}

/* All ranks have the same mean and no variance. So the real variance is 0, and what is computed is
   the square of the mean's error. */
Test(norm_ranks, the_square_of_the_error_of_the_mean_is_in_the_variance)
{
    struct draw d = {.ranks = 3, .means = {488e3F, 488e3F, 488e3F}, .counts = {17, 32, 11}};
    struct judged mean = judged(&d, TEXTBOOK, hc_bound, HC_BN_COMBINE_SAVED_MEAN);
    struct judged variance = judged(&d, TEXTBOOK, hc_bound, HC_BN_COMBINE_SAVED_VARIANCE);
    cr_expect(variance.want == 0 && variance.error > 0);
    cr_expect(variance.error <= variance.most, "%g > %g", variance.error, variance.most);
    cr_expect(variance.most <= 2 * mean.most * mean.most, "%g", variance.most);
}

/* The means lie 2^10 apart, and 2^17 from 0. Where ranks come one by one the variance is off by the
   mean's error times that distance: more than the error's square and all roundings come to. */
Test(norm_ranks, the_error_of_the_mean_times_the_distance_of_means_is_in_the_variance_of_any_order)
{
    for (enum manner order = FOLDED; order <= FUSED; order++) {
        struct draw d = {.ranks = 4,
                         .means = {131079.734375F, 131082.90625F, 131080.0625F, 132096},
                         .counts = {18, 10, 4, 12}};
        struct judged mean = judged(&d, order, hc_bound_any_order, HC_BN_COMBINE_SAVED_MEAN);
        struct judged variance =
            judged(&d, order, hc_bound_any_order, HC_BN_COMBINE_SAVED_VARIANCE);
        double roundings = mean.most / (2 * 132096) * variance.want;
        cr_expect(variance.error <= variance.most, "%s: %g > %g", orders_of_ranks[order],
                  variance.error, variance.most);
        cr_expect(variance.error > 2 * (mean.most * mean.most + roundings), "%s: %g",
                  orders_of_ranks[order], variance.error);
    }
}
