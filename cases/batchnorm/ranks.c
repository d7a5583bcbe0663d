/* Batch norm of a batch that ranks share: in parts, in a network, and as it has gone wrong
   elsewhere. */
#include <math.h>
#include <stdio.h>

#include "case.h"
#include "cases/fixture/apart.h"
#include "cases/fixture/norm_net.h"
#include "cases/fixture/norm_parts.h"
#include "check/bound/bound.h"
#include "op/descriptor.h"
#include "reference.h"

/* Batch norm of a batch that ranks share, in parts, against the whole batch. What is wanted is
   MPFR's value of bn_leaky_train and bn_leaky_bwd of the whole batch, which know nothing of ranks,
   within check/bound/norm_ranks.c's bound and within bn_leaky_bwd's own. */

static const struct hc_norm_shares ways[] = {
    {1, {24}},
    {2, {12, 12}},
    {4, {1, 40, 3, 20}},
    {8, {8, 8, 8, 8, 8, 8, 8, 8}},
};

static void claim_whole(const struct hc_norm_parts *b, const struct hc_call *whole)
{
    struct hc_accumulator sums = {.precision = 24, .block = 1};
    bool any = hc_check_backend(b->check)->free_order;
    for (int o = 0; o < hc_ops[whole->op].outputs; o++)
        for (int64_t i = 0; i < hc_tensor_count(&whole->out[o]); i++) {
            struct hc_element e = {whole, o, i};
            struct hc_exact want = hc_reference_value(whole, o, i);
            double bound = whole->op == HC_OP_bn_leaky_train
                               ? hc_bound_shared(&e, b->shares->rows, b->shares->ranks, any, &want)
                           : any ? hc_bound_any_order(&e, &sums, &want)
                                 : hc_bound(&e, &sums, &want);
            hc_claim_within(b->check, hc_slot(whole->op, hc_ops[whole->op].inputs + o)->name,
                            want.hi, hc_tensor_get(&whole->out[o], i), bound);
        }
}

static void parts(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    for (size_t s = 0; s < sizeof ways / sizeof ways[0]; s++)
        for (int f = 0; f < 3; f++) {
            struct hc_norm_parts b = hc_norm_parts_new(check, &ways[s], formats[f]);
            if (!hc_norm_parts_forward(&b) || !hc_norm_parts_backward(&b))
                return;
            claim_whole(&b, &b.train);
            claim_whole(&b, &b.back);
        }
}

/* A network whose ranks share batch norm, layer by layer (cases/fixture/norm_net.h). Batch norm of
   the whole batch, by MPFR, must give what the ranks made of it: within the bound of shared moments
   forward, within bn_leaky_bwd's bound back. Gradients of gamma and beta are those of each rank's
   own rows, as parameters' gradients are before ranks average them. What flows into a layer is what
   the ranks really had, so errors do not add up from layer to layer. */

enum { SAMPLE = 12 };

static void claim_alike(const struct hc_norm_net *job, const struct hc_norm_net_layer *layer,
                        const char *name)
{
    struct hc_comparisons alike = {.what = "the statistics of another rank"};
    for (int r = 1; r < job->ranks; r++)
        for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++) {
            const struct hc_tensor *want = &layer->alike[0][o];
            alike.checked++;
            if (memcmp(want->data, layer->alike[r][o].data, hc_tensor_bytes(want)) != 0) {
                alike.wrong++;
                hc_comparisons_wrong(&alike, "%s: rank %d has another %s than rank 0", name, r,
                                     hc_descriptor(HC_OP_bn_leaky_train)->out[o].name);
            }
        }
    hc_claim_comparisons(job->check, &alike);
}

static void claim_output(const struct hc_norm_net *job, const struct hc_call *call, int o,
                         const char *layer)
{
    static const struct hc_accumulator sums = {.precision = 24, .block = 1};
    bool any = hc_check_backend(job->check)->free_order;
    const struct hc_tensor *t = &call->out[o];
    int64_t n = hc_tensor_count(t);
    int64_t rows[HC_NORM_NET_RANKS];
    const struct hc_tensor *x = &call->in[HC_FIRST];
    int64_t channels = x->shape[x->rank - 1];
    for (int r = 0; r < job->ranks; r++)
        rows[r] = hc_tensor_count(x) / channels / job->ranks;
    int64_t apart = hc_apart(n, channels > SAMPLE ? channels : SAMPLE);
    for (int64_t i = 0; i < n; i += apart) {
        struct hc_element e = {call, o, i};
        struct hc_exact want = hc_reference_value(call, o, i);
        char what[64];
        (void)snprintf(what, sizeof what, "%s: %s", layer, hc_descriptor(call->op)->out[o].name);
        double bound = call->op == HC_OP_bn_leaky_train
                           ? hc_bound_shared(&e, rows, job->ranks, any, &want)
                       : any ? hc_bound_any_order(&e, &sums, &want)
                             : hc_bound(&e, &sums, &want);
        hc_claim_within(job->check, what, want.hi, hc_tensor_get(t, i), bound);
    }
}

static void claim_layer(const struct hc_norm_net *job, int l)
{
    const char *name = job->plan.layer[l].name;
    const struct hc_norm_net_layer *layer = &job->layer[l];
    claim_alike(job, layer, name);
    for (int o = 0; o < hc_ops[HC_OP_bn_leaky_train].outputs; o++)
        claim_output(job, &layer->train, o, name);
    claim_output(job, &layer->back, HC_BN_BWD_DX, name);
    for (int r = 0; r < job->ranks; r++) {
        claim_output(job, &layer->own[r], HC_BN_BWD_DGAMMA, name);
        claim_output(job, &layer->own[r], HC_BN_BWD_DBETA, name);
    }
}

static void every_layer(struct hc_check *check)
{
    const struct hc_recipe *recipe = hc_recipe_by_name(hc_check_case(check)->data);
    for (int ranks = 2; ranks <= HC_NORM_NET_RANKS; ranks *= 2) {
        const struct hc_norm_net *net = hc_norm_net_run(check, recipe, ranks);
        for (int l = 0; net && l < net->plan.layers; l++)
            if (net->plan.layer[l].kind == HC_LAYER_CONV)
                claim_layer(net, l);
    }
}

static const char source[] = "pytorch v1.13.1 torch/nn/modules/_functions.py: SyncBatchNorm";

/* How batch norm over ranks has gone wrong elsewhere: the formula that was used, and the ops on the
   same numbers. The formulas are computed here, each operation rounded as it was. */

enum { MOST = 256 };

static double fp32(double x)
{
    return hc_round(HC_FP32, x);
}

/* bn_combine of one channel. eps is 1e-5, momentum 1: running statistics become the batch's. */
static struct hc_call combine_of(struct hc_check *check, int ranks, const double *mean,
                                 const double *variance, const double *count)
{
    struct hc_call call = {.op = HC_OP_bn_combine, .params.bn = {.eps = 1e-5, .momentum = 1}};
    struct hc_tensor rows = hc_tensor2(HC_FP32, ranks, 1, NULL);
    call.in[HC_BN_COMBINE_MEANS] = hc_check_tensor(check, rows);
    call.in[HC_BN_COMBINE_VARIANCES] = hc_check_tensor(check, rows);
    call.in[HC_BN_COMBINE_COUNTS] = hc_check_vector(check, HC_I32, ranks);
    call.in[HC_BN_COMBINE_MEAN] = hc_check_vector(check, HC_FP32, 1);
    call.in[HC_BN_COMBINE_VARIANCE] = hc_check_vector(check, HC_FP32, 1);
    for (int o = 0; o <= HC_BN_COMBINE_NEW_VARIANCE; o++)
        call.out[o] = hc_check_vector(check, HC_FP32, 1);
    for (int r = 0; r < ranks; r++) {
        hc_tensor_set(&call.in[HC_BN_COMBINE_MEANS], r, mean[r]);
        hc_tensor_set(&call.in[HC_BN_COMBINE_VARIANCES], r, variance[r]);
        hc_tensor_set(&call.in[HC_BN_COMBINE_COUNTS], r, count[r]);
    }
    return call;
}

/* 150 ranks of 500 elements, whose counts are half: n + 500 is rounded into half and is infinite
   from 65,520 on. Then 1 / (n + 500) is 0, and so is the mean. */
static void count_in_half(struct hc_check *check)
{
    enum { RANKS_REPORTED = 150, COUNT = 500 };
    double mean[MOST];
    double variance[MOST];
    double count[MOST];
    double average = 0;
    double n = 0;
    for (int r = 0; r < RANKS_REPORTED; r++) {
        mean[r] = fp32(hc_random_uniform(hc_check_seed(check), 1, (uint64_t)r));
        variance[r] = 1;
        count[r] = COUNT;
        double all = hc_round(HC_FP16, n + COUNT);
        double factor = fp32(1 / all);
        average = fp32(fp32(fp32(n * factor) * average) + fp32(fp32(COUNT * factor) * mean[r]));
        n = isinf(all) ? 65504 : all;
    }
    struct hc_call call = combine_of(check, RANKS_REPORTED, mean, variance, count);
    hc_say(check, "150 ranks of 500 elements: 75000, and half ends at 65504. Mean %g", average);
    hc_claim_value(check, "the mean where the count is half", 0, average);
    hc_claim_call(check, &call);
}

/* The running variance of rank `own`, which takes its own count for everybody's: the parallel
   update, and the unbiased variance of 2 n elements. */
static double with_own_count(int own, const double *mean, const double *variance,
                             const double *count)
{
    double n = count[own];
    double apart = mean[0] - mean[1];
    double squares = n * (variance[0] + variance[1]) + apart * apart * n / 2;
    return squares / (2 * n - 1);
}

/* One rank has an image of 3 x 3, the other of 5 x 5. */
static void own_count(struct hc_check *check)
{
    static const double mean[] = {0, 4};
    static const double variance[] = {1, 3};
    static const double count[] = {9, 25};
    struct hc_call call = combine_of(check, 2, mean, variance, count);
    double first = with_own_count(0, mean, variance, count);
    double second = with_own_count(1, mean, variance, count);
    /* the mean is 100 / 34, and squares are 9 + 75 + 16 * 9 * 25 / 34 */
    double right = (84 + 16.0 * 225 / 34) / 33;
    hc_say(check, "running variance: rank 0 has %g, rank 1 %g, all elements %g", first, second,
           right);
    hc_claim_true(check, "ranks that count by themselves have two running variances, both wrong",
                  first != second && fabs(first - right) > 0.1 && fabs(second - right) > 0.1);
    if (hc_claim_call(check, &call) != HC_OK)
        return;
    hc_claim_within(check, "running variance", right,
                    hc_tensor_get(&call.out[HC_BN_COMBINE_NEW_VARIANCE], 0),
                    ldexp(64 * right, -24));
}

/* dy is 1 on the two rows of rank 0 and 0 on the six of rank 1; x is 1 and -1 in turn. The mean of
   dy is a quarter. The mean of both ranks' means is a half. */
static void mean_of_means(struct hc_check *check)
{
    enum { RANKS_REPORTED = 2, ROWS_REPORTED = 8, FIRST = 2 };
    struct hc_tensor sums = hc_check_tensor(check, hc_tensor2(HC_FP32, RANKS_REPORTED, 1, NULL));
    struct hc_tensor mean = hc_check_vector(check, HC_FP32, 1);
    double local[RANKS_REPORTED];
    for (int r = 0; r < RANKS_REPORTED; r++) {
        int64_t rows = r == 0 ? FIRST : ROWS_REPORTED - FIRST;
        struct hc_tensor x = hc_check_tensor(check, hc_tensor2(HC_FP32, rows, 1, NULL));
        struct hc_tensor dy = hc_check_tensor(check, x);
        for (int64_t i = 0; i < rows; i++) {
            hc_tensor_set(&x, i, i % 2 ? -1 : 1);
            hc_tensor_set(&dy, i, r == 0);
        }
        struct hc_call call = {.op = HC_OP_bn_bwd_sums,
                               .in = {[HC_BN_BWD_SUMS_X] = x,
                                      [HC_BN_BWD_SUMS_DY] = dy,
                                      [HC_BN_BWD_SUMS_MEAN] = hc_check_vector(check, HC_FP32, 1),
                                      [HC_BN_BWD_SUMS_INVSTD] = hc_check_vector(check, HC_FP32, 1)},
                               .out = {hc_check_vector(check, HC_FP32, 1),
                                       hc_tensor1(HC_FP32, 1, (float *)sums.data + r)}};
        hc_tensor_set(&call.in[HC_BN_BWD_SUMS_INVSTD], 0, 1);
        if (hc_do(check, &call) != HC_OK)
            return;
        local[r] = hc_tensor_get(&sums, r) / (double)rows;
    }
    struct hc_call reduce = {
        .op = HC_OP_all_reduce,
        .in = {[HC_ALL_REDUCE_X] = sums},
        .out = {[HC_ALL_REDUCE_OUT] = mean},
        .params.all_reduce = {.sum = HC_FP32, .before = 1, .after = ROWS_REPORTED}};
    if (hc_do(check, &reduce) != HC_OK)
        return;
    hc_claim_value(check, "the mean of the ranks' means", 0.5,
                   (local[0] + local[1]) / RANKS_REPORTED);
    hc_claim_value(check, "the sum of all ranks over all elements", 0.25, hc_tensor_get(&mean, 0));
}

/* x is 9999 and 10001 in turn on every rank. In fp32 the mean of x^2 is off by more than 1. */
static void one_pass(struct hc_check *check)
{
    enum { RANKS_REPORTED = 4, ROWS_REPORTED = 64 };
    double mean[RANKS_REPORTED];
    double variance[RANKS_REPORTED];
    double count[RANKS_REPORTED];
    double sum = 0;
    double squares = 0;
    for (int r = 0; r < RANKS_REPORTED; r++) {
        double own = 0;
        double own_squares = 0;
        struct hc_call call = {.op = HC_OP_bn_moments};
        call.in[HC_BN_MOMENTS_X] =
            hc_check_tensor(check, hc_tensor2(HC_FP32, ROWS_REPORTED, 1, NULL));
        call.out[HC_BN_MOMENTS_MEAN] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_BN_MOMENTS_VARIANCE] = hc_check_vector(check, HC_FP32, 1);
        for (int i = 0; i < ROWS_REPORTED; i++) {
            double x = i % 2 ? 10001 : 9999;
            hc_tensor_set(&call.in[HC_BN_MOMENTS_X], i, x);
            own = fp32(own + x);
            own_squares = fp32(own_squares + fp32(x * x));
        }
        if (hc_do(check, &call) != HC_OK)
            return;
        mean[r] = hc_tensor_get(&call.out[HC_BN_MOMENTS_MEAN], 0);
        variance[r] = hc_tensor_get(&call.out[HC_BN_MOMENTS_VARIANCE], 0);
        count[r] = ROWS_REPORTED;
        sum = fp32(sum + fp32(own / ROWS_REPORTED));
        squares = fp32(squares + fp32(own_squares / ROWS_REPORTED));
    }
    sum = fp32(sum / RANKS_REPORTED);
    squares = fp32(squares / RANKS_REPORTED);
    double short_cut = fp32(squares - fp32(sum * sum));
    struct hc_call call = combine_of(check, RANKS_REPORTED, mean, variance, count);
    hc_say(check, "4 ranks of 9999 and 10001: E[x^2] - E[x]^2 = %g, and the variance is 1",
           short_cut);
    hc_claim_true(check, "the difference of the averages is wrong by more than a half",
                  fabs(short_cut - 1) > 0.5);
    if (hc_do(check, &call) != HC_OK)
        return;
    hc_claim_value(check, "mean", 10000, hc_tensor_get(&call.out[HC_BN_COMBINE_SAVED_MEAN], 0));
    hc_claim_value(check, "variance", 1, hc_tensor_get(&call.out[HC_BN_COMBINE_SAVED_VARIANCE], 0));
}

/* What a rank tells is 1 / sqrt(variance + eps); the others take the variance back out of it. */
static void inverse_exchanged(struct hc_check *check)
{
    static const double mean[] = {1, 1};
    static const double count[] = {2048, 2048};
    const double variance[] = {0x1p-40, 0x1p-40};
    double eps = fp32(1e-5);
    double told = fp32(1 / fp32(sqrt(fp32(variance[0] + eps))));
    double heard = fp32(1 / told);
    double back = fp32(fp32(heard * heard) - eps);
    struct hc_call call = combine_of(check, 2, mean, variance, count);
    hc_say(check, "a variance of %.4g goes as %.9g and comes back as %.4g", variance[0], told,
           back);
    hc_claim_true(check, "a variance far below eps does not come back",
                  fabs(back - variance[0]) > variance[0] / 2);
    if (hc_do(check, &call) == HC_OK)
        hc_claim_value(check, "variance", variance[0],
                       hc_tensor_get(&call.out[HC_BN_COMBINE_SAVED_VARIANCE], 0));
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/ranks-parts",
     .title = "1, 2, 4 and 8 ranks that share a batch evenly or not have the batch norm of the "
              "whole batch, forward and back",
     .source = "pytorch v1.13.1 torch/nn/modules/_functions.py: SyncBatchNorm",
     .run = parts},
    {.name = "batchnorm/ranks-network-fp32",
     .title = "in every layer of a network in fp32, ranks that share batch norm have that of the "
              "whole batch",
     .source = source,
     .run = every_layer,
     .data = "fp32"},
    {.name = "batchnorm/ranks-network-amp",
     .title = "in every layer of a network under autocast to half, ranks that share batch norm "
              "have that of the whole batch",
     .source = source,
     .run = every_layer,
     .data = "amp"},
    {.name = "batchnorm/ranks-network-bf16",
     .title = "in every layer of a network in bf16, ranks that share batch norm have that of the "
              "whole batch",
     .source = source,
     .run = every_layer,
     .data = "amp-bf16"},
    {.name = "batchnorm/ranks-count-in-half",
     .title = "75,000 elements on 150 ranks: where half counts them the mean is 0",
     .source = "pytorch/pytorch issue 70901, 'Accuracy problem of "
               "torch.batch_norm_gather_stats_with_counts when running_mean is half tensor', "
               "https://github.com/pytorch/pytorch/issues/70901",
     .run = count_in_half},
    {.name = "batchnorm/ranks-own-count",
     .title = "ranks with images of different sizes that take their own count for everybody's "
              "have different running variances",
     .source = "pytorch/pytorch issue 22192, 'Sync Batchnorm running var update issue', "
               "https://github.com/pytorch/pytorch/issues/22192; NVIDIA/apex issue 387",
     .run = own_count},
    {.name = "batchnorm/ranks-mean-of-means",
     .title = "the mean of the ranks' means of dy is not the mean of dy where ranks have "
              "different numbers of elements",
     .source = "pytorch/pytorch PR 36382, 'Fixing SyncBN dgrad', "
               "https://github.com/pytorch/pytorch/pull/36382",
     .run = mean_of_means},
    {.name = "batchnorm/ranks-one-pass",
     .title = "ranks that average x and x^2 lose a variance of 1 at a mean of 10,000",
     .source = "PaddlePaddle/Paddle PR 16121, 'Support sync batch norm', "
               "https://github.com/PaddlePaddle/Paddle/pull/16121: var = var - mean * mean",
     .run = one_pass},
    {.name = "batchnorm/ranks-inverse-exchanged",
     .title = "a variance that is exchanged as 1 / sqrt(variance + eps) does not come back where "
              "it is far below eps",
     .source = "aten/src/ATen/native/cuda/Normalization.cuh as quoted in pytorch/pytorch issue "
               "22192: v = 1 / invstd; v = (v * v - epsilon) * count",
     .run = inverse_exchanged},
};

HC_CASES(batchnorm_ranks, cases);
