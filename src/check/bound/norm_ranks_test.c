/* The bounds of batch statistics over ranks: right kernels stay within them in every order, and
   come so near to them that bounds much wider, or without one of their terms, are found. */
#include "check/bound/manners.h"

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

static bool is_right(struct draw *d, enum manner order, int out)
{
    struct hc_call call = call_of(d);
    struct hc_element e = {&call, out, 0};
    struct hc_exact want = hc_reference_value(&call, out, 0);
    if (order < RIGHT_MANNERS) {
        manner = order;
        other_bn_combine(NULL, &call);
    }
    return hc_bound_error_any_order(&e, &want, (double)d->got[out]) <=
           hc_bound_any_order(&e, &sums, &want);
}

/* One infinite mean on each of up to four ranks, two of one sign and two of both, with an infinite
   variance beside it and without. */
static struct draw infinite(int n)
{
    struct draw d = {.ranks = 1 + n % 4, .running = {3, 4}};
    int first = n / 4 % 4;
    int second = n / 16 % 4;
    for (int r = 0; r < d.ranks; r++) {
        d.means[r] = (float)r;
        d.variances[r] = 1;
        d.counts[r] = 5 + r;
    }
    d.means[first] = INFINITY;
    d.variances[second] = n / 64 % 2 ? INFINITY : 1;
    if (n / 128 % 3)
        d.means[second] = n / 128 % 3 == 1 ? INFINITY : -INFINITY;
    return d;
}

Test(norm_ranks, whatever_an_order_makes_of_an_infinite_mean_is_right)
{
    for (int n = 0; n < 384; n++)
        for (enum manner order = IN_FP64; order < RIGHT_MANNERS; order++)
            for (int o = 0; o < OUTPUTS; o++) {
                struct draw d = infinite(n);
                cr_expect(is_right(&d, order, o), "%d, %s: %s is %g", n, orders_of_ranks[order],
                          output_names[o], (double)d.got[o]);
            }
}

/* If one of two ranks has an infinite mean, no order makes a number, nor the other infinity. A
   single rank can be known in full. A NaN is NaN in every order. */
Test(norm_ranks, of_an_infinite_mean_no_order_makes_a_number)
{
    static const float wrong[OUTPUTS] = {2, 3, 0.5F, 2, 3};
    for (int o = 0; o < OUTPUTS; o++) {
        struct draw d = {.ranks = 2, .means = {1, INFINITY}, .variances = {1, 1}, .counts = {4, 6}};
        d.got[o] = wrong[o];
        cr_expect(!is_right(&d, MANNERS, o), "%s: a number", output_names[o]);
        d.got[o] = -INFINITY;
        cr_expect(!is_right(&d, MANNERS, o), "%s: the other infinity", output_names[o]);
        d.variances[0] = d.running[1] = NAN;
        d.got[o] = o == HC_BN_COMBINE_SAVED_INVSTD ? 0 : INFINITY;
        bool of_mean = o == HC_BN_COMBINE_SAVED_MEAN || o == HC_BN_COMBINE_NEW_MEAN;
        cr_expect_eq(is_right(&d, MANNERS, o), of_mean, "%s: beside NaN", output_names[o]);
    }
    struct draw one = {.ranks = 1, .means = {INFINITY}, .variances = {3}, .counts = {6}};
    one.got[HC_BN_COMBINE_SAVED_VARIANCE] = 3;
    cr_expect(is_right(&one, MANNERS, HC_BN_COMBINE_SAVED_VARIANCE));
    one.got[HC_BN_COMBINE_SAVED_VARIANCE] = 3.5F;
    cr_expect(!is_right(&one, MANNERS, HC_BN_COMBINE_SAVED_VARIANCE));
}
