/* How batch norm over ranks has gone wrong elsewhere: the formula that was used, and the ops on the
   same numbers. The formulas are computed here, each operation rounded as it was. */
#include <math.h>

#include "case.h"

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
    enum { RANKS = 150, COUNT = 500 };
    double mean[MOST];
    double variance[MOST];
    double count[MOST];
    double average = 0;
    double n = 0;
    for (int r = 0; r < RANKS; r++) {
        mean[r] = fp32(hc_random_uniform(hc_check_seed(check), 1, (uint64_t)r));
        variance[r] = 1;
        count[r] = COUNT;
        double all = hc_round(HC_FP16, n + COUNT);
        double factor = fp32(1 / all);
        average = fp32(fp32(fp32(n * factor) * average) + fp32(fp32(COUNT * factor) * mean[r]));
        n = isinf(all) ? 65504 : all;
    }
    struct hc_call call = combine_of(check, RANKS, mean, variance, count);
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
    enum { RANKS = 2, ROWS = 8, FIRST = 2 };
    struct hc_tensor sums = hc_check_tensor(check, hc_tensor2(HC_FP32, RANKS, 1, NULL));
    struct hc_tensor mean = hc_check_vector(check, HC_FP32, 1);
    double local[RANKS];
    for (int r = 0; r < RANKS; r++) {
        int64_t rows = r == 0 ? FIRST : ROWS - FIRST;
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
    struct hc_call reduce = {.op = HC_OP_all_reduce,
                             .in = {[HC_ALL_REDUCE_X] = sums},
                             .out = {[HC_ALL_REDUCE_OUT] = mean},
                             .params.all_reduce = {.sum = HC_FP32, .before = 1, .after = ROWS}};
    if (hc_do(check, &reduce) != HC_OK)
        return;
    hc_claim_value(check, "the mean of the ranks' means", 0.5, (local[0] + local[1]) / RANKS);
    hc_claim_value(check, "the sum of all ranks over all elements", 0.25, hc_tensor_get(&mean, 0));
}

/* x is 9999 and 10001 in turn on every rank. In fp32 the mean of x^2 is off by more than 1. */
static void one_pass(struct hc_check *check)
{
    enum { RANKS = 4, ROWS = 64 };
    double mean[RANKS];
    double variance[RANKS];
    double count[RANKS];
    double sum = 0;
    double squares = 0;
    for (int r = 0; r < RANKS; r++) {
        double own = 0;
        double own_squares = 0;
        struct hc_call call = {.op = HC_OP_bn_moments};
        call.in[HC_BN_MOMENTS_X] = hc_check_tensor(check, hc_tensor2(HC_FP32, ROWS, 1, NULL));
        call.out[HC_BN_MOMENTS_MEAN] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_BN_MOMENTS_VARIANCE] = hc_check_vector(check, HC_FP32, 1);
        for (int i = 0; i < ROWS; i++) {
            double x = i % 2 ? 10001 : 9999;
            hc_tensor_set(&call.in[HC_BN_MOMENTS_X], i, x);
            own = fp32(own + x);
            own_squares = fp32(own_squares + fp32(x * x));
        }
        if (hc_do(check, &call) != HC_OK)
            return;
        mean[r] = hc_tensor_get(&call.out[HC_BN_MOMENTS_MEAN], 0);
        variance[r] = hc_tensor_get(&call.out[HC_BN_MOMENTS_VARIANCE], 0);
        count[r] = ROWS;
        sum = fp32(sum + fp32(own / ROWS));
        squares = fp32(squares + fp32(own_squares / ROWS));
    }
    sum = fp32(sum / RANKS);
    squares = fp32(squares / RANKS);
    double short_cut = fp32(squares - fp32(sum * sum));
    struct hc_call call = combine_of(check, RANKS, mean, variance, count);
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
    {"batchnorm/ranks-count-in-half",
     "75,000 elements on 150 ranks: where half counts them the mean is 0",
     "pytorch/pytorch issue 70901, 'Accuracy problem of torch.batch_norm_gather_stats_with_counts "
     "when running_mean is half tensor', https://github.com/pytorch/pytorch/issues/70901",
     .run = count_in_half},
    {"batchnorm/ranks-own-count",
     "ranks with images of different sizes that take their own count for everybody's have "
     "different running variances",
     "pytorch/pytorch issue 22192, 'Sync Batchnorm running var update issue', "
     "https://github.com/pytorch/pytorch/issues/22192; NVIDIA/apex issue 387",
     .run = own_count},
    {"batchnorm/ranks-mean-of-means",
     "the mean of the ranks' means of dy is not the mean of dy where ranks have different numbers "
     "of elements",
     "pytorch/pytorch PR 36382, 'Fixing SyncBN dgrad', "
     "https://github.com/pytorch/pytorch/pull/36382",
     .run = mean_of_means},
    {"batchnorm/ranks-one-pass",
     "ranks that average x and x^2 lose a variance of 1 at a mean of 10,000",
     "PaddlePaddle/Paddle PR 16121, 'Support sync batch norm', "
     "https://github.com/PaddlePaddle/Paddle/pull/16121: var = var - mean * mean",
     .run = one_pass},
    {"batchnorm/ranks-inverse-exchanged",
     "a variance that is exchanged as 1 / sqrt(variance + eps) does not come back where it is far "
     "below eps",
     "aten/src/ATen/native/cuda/Normalization.cuh as quoted in pytorch/pytorch issue 22192: v = 1 "
     "/ invstd; v = (v * v - epsilon) * count",
     .run = inverse_exchanged},
};

HC_CASES(batchnorm_ranks_reported, cases);
