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

enum { ROWS = 64, CHANNELS = 8, STATISTICS = 4 };

static void run(struct hc_call call)
{
    cr_assert_eq(hc_backend_by_name("exact")->kernel[call.op](NULL, &call), HC_OK);
}

/* A batch in one piece, and what ranks know of it. */
struct batch {
    float x[ROWS * CHANNELS];
    float y[ROWS * CHANNELS];
    float given[STATISTICS][CHANNELS];
    float got[OUTPUTS][CHANNELS]; /* as bn_combine has them */
    float means[MOST_RANKS * CHANNELS];
    float variances[MOST_RANKS * CHANNELS];
    int32_t counts[MOST_RANKS];
};

static void draw_batch(struct batch *b, uint64_t n)
{
    for (int i = 0; i < ROWS * CHANNELS; i++)
        b->x[i] = (float)(3 + hc_random_normal(3, n, (uint64_t)i));
    for (int c = 0; c < CHANNELS; c++)
        for (int k = 0; k < STATISTICS; k++)
            b->given[k][c] = (float)(1 + hc_random_uniform(4 + (uint64_t)k, n, (uint64_t)c));
}

static struct hc_tensor channels(float *data)
{
    return hc_tensor1(HC_FP32, CHANNELS, data);
}

static struct hc_call training_of(struct batch *b)
{
    struct hc_call call = {
        .op = HC_OP_bn_train,
        .in = {[HC_BN_X] = hc_tensor2(HC_FP32, ROWS, CHANNELS, b->x)},
        .out = {[HC_BN_Y] = hc_tensor2(HC_FP32, ROWS, CHANNELS, b->y),
                [HC_BN_SAVED_MEAN] = channels(b->got[HC_BN_COMBINE_SAVED_MEAN]),
                [HC_BN_SAVED_INVSTD] = channels(b->got[HC_BN_COMBINE_SAVED_INVSTD]),
                [HC_BN_NEW_MEAN] = channels(b->got[HC_BN_COMBINE_NEW_MEAN]),
                [HC_BN_NEW_VARIANCE] = channels(b->got[HC_BN_COMBINE_NEW_VARIANCE])},
        .params.bn = {.eps = 1e-5, .momentum = 0.5}};
    for (int k = 0; k < STATISTICS; k++)
        call.in[HC_BN_GAMMA + k] = channels(b->given[k]);
    return call;
}

static void train_in_parts(struct batch *b, const struct hc_call *whole, const int64_t *rows,
                           int ranks)
{
    struct hc_call combined = {.op = HC_OP_bn_combine, .params = whole->params};
    struct hc_call normal = *whole;
    float *x = b->x;
    for (int r = 0; r < ranks; x += rows[r++] * CHANNELS) {
        b->counts[r] = (int32_t)rows[r];
        run((struct hc_call){.op = HC_OP_bn_moments,
                             .in = {hc_tensor2(HC_FP32, rows[r], CHANNELS, x)},
                             .out = {channels(b->means + (ptrdiff_t)r * CHANNELS),
                                     channels(b->variances + (ptrdiff_t)r * CHANNELS)}});
    }
    combined.in[HC_BN_COMBINE_MEANS] = hc_tensor2(HC_FP32, ranks, CHANNELS, b->means);
    combined.in[HC_BN_COMBINE_VARIANCES] = hc_tensor2(HC_FP32, ranks, CHANNELS, b->variances);
    combined.in[HC_BN_COMBINE_COUNTS] = hc_tensor1(HC_I32, ranks, b->counts);
    combined.in[HC_BN_COMBINE_MEAN] = whole->in[HC_BN_MEAN];
    combined.in[HC_BN_COMBINE_VARIANCE] = whole->in[HC_BN_VARIANCE];
    for (int o = 0; o < OUTPUTS; o++)
        combined.out[o] = channels(b->got[o]);
    run(combined);
    normal.op = HC_OP_bn_infer;
    normal.in[HC_BN_MEAN] = combined.out[HC_BN_COMBINE_SAVED_MEAN];
    normal.in[HC_BN_VARIANCE] = combined.out[HC_BN_COMBINE_SAVED_VARIANCE];
    run(normal);
}

Test(norm_ranks, a_shared_batch_stays_within_its_bound_and_comes_near_it)
{
    static const struct {
        int ranks;
        int64_t rows[MOST_RANKS];
    } ways[] = {{2, {32, 32}}, {4, {1, 40, 3, 20}}, {8, {8, 8, 8, 8, 8, 8, 8, 8}}};
    static struct batch b;
    double worst[OUTPUTS] = {0};
    for (uint64_t n = 0; n < 12; n++) {
        draw_batch(&b, n);
        struct hc_call whole = training_of(&b);
        train_in_parts(&b, &whole, ways[n % 3].rows, ways[n % 3].ranks);
        for (int o = 0; o < OUTPUTS; o++)
            for (int64_t i = 0; i < hc_tensor_count(&whole.out[o]); i += o == HC_BN_Y ? 7 : 1) {
                struct hc_element e = {&whole, o, i};
                struct hc_exact want = hc_reference_value(&whole, o, i);
                double most = hc_bound_shared(&e, ways[n % 3].rows, ways[n % 3].ranks, &want);
                double error = hc_bound_error(HC_FP32, &want, hc_tensor_get(&whole.out[o], i));
                cr_assert(error <= most, "output %d: %g > %g", o, error, most);
                worst[o] = fmax(worst[o], error / most);
            }
    }
    for (int o = 0; o < OUTPUTS; o++)
        cr_expect(worst[o] >= 0.05, "output %d: %g of the bound", o, worst[o]);
}
