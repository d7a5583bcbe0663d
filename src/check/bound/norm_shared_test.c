/* The bound of a batch that ranks share (norm_ranks.c): the ops in parts stay within it, and come
   so near to it that a bound much wider, or without what ranks' moments are off by, is found. */
#include <criterion/criterion.h>
#include <math.h>

#include "backend.h"
#include "check/bound/bound.h"
#include "num/rng.h"

enum { MOST_RANKS = 8, OUTPUTS = 5, ROWS = 64, CHANNELS = 8, STATISTICS = 4 };

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

/* A number of the batch: a random one, or in each channel the same one, or that and its negative in
   turns. Sums of equal numbers, or of equal squares, round in one direction again and again. */
static double drawn(uint64_t n, uint64_t i)
{
    double same = 3 + hc_random_uniform(3, n, i % CHANNELS);
    switch (n % 3) {
    case 0:
        return 3 + hc_random_normal(3, n, i);
    case 1:
        return same;
    default:
        return i / CHANNELS % 2 ? -same : same;
    }
}

static void draw_batch(struct batch *b, uint64_t n)
{
    for (int i = 0; i < ROWS * CHANNELS; i++)
        b->x[i] = (float)drawn(n, (uint64_t)i);
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

Test(norm_shared, a_shared_batch_stays_within_its_bound_and_comes_near_it)
{
    static const struct {
        int ranks;
        int64_t rows[MOST_RANKS];
    } ways[] = {{1, {64}}, {2, {32, 32}}, {4, {1, 40, 3, 20}}, {8, {8, 8, 8, 8, 8, 8, 8, 8}}};
    static struct batch b;
    double worst[OUTPUTS] = {0};
    for (uint64_t n = 0; n < 24; n++) {
        draw_batch(&b, n);
        struct hc_call whole = training_of(&b);
        train_in_parts(&b, &whole, ways[n / 3 % 4].rows, ways[n / 3 % 4].ranks);
        for (int o = 0; o < OUTPUTS; o++)
            for (int64_t i = 0; i < hc_tensor_count(&whole.out[o]); i += o == HC_BN_Y ? 7 : 1) {
                struct hc_element e = {&whole, o, i};
                struct hc_exact want = hc_reference_value(&whole, o, i);
                double most =
                    hc_bound_shared(&e, ways[n / 3 % 4].rows, ways[n / 3 % 4].ranks, false, &want);
                double error = hc_bound_error(HC_FP32, &want, hc_tensor_get(&whole.out[o], i));
                cr_assert(error <= most, "output %d: %g > %g", o, error, most);
                worst[o] = fmax(worst[o], error / most);
            }
    }
    for (int o = 0; o < OUTPUTS; o++)
        cr_expect(worst[o] >= 0.05, "output %d: %g of the bound", o, worst[o]);
}
