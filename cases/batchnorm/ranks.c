/* Batch norm of a batch that ranks share, in parts, against the whole batch.

   Ranks are simulated one after the other: each takes moments of its own rows, bn_combine makes the
   statistics of all, each normalises its rows; back, each takes its sums, the op all_reduce adds
   them in a tree and divides by the number of all elements, each makes its gradient. What is wanted
   is MPFR's value of bn_leaky_train and bn_leaky_bwd of the whole batch, which know nothing of
   ranks, within check/bound/norm_ranks.c's bound and within bn_leaky_bwd's own. */
#include "case.h"
#include "check/bound/bound.h"
#include "op/descriptor.h"
#include "reference.h"

enum { CHANNELS = 5, MOST_RANKS = 8 };

/* How the rows of a batch are shared. */
struct shares {
    int ranks;
    int64_t rows[MOST_RANKS];
};

static const struct shares ways[] = {
    {1, {24}},
    {2, {12, 12}},
    {4, {1, 40, 3, 20}},
    {8, {8, 8, 8, 8, 8, 8, 8, 8}},
};

/* The whole batch, and one call of each kind on all of it, which is never run. */
struct batch {
    struct hc_check *check;
    const struct shares *shares;
    struct hc_call train;
    struct hc_call back;
};

static struct hc_tensor drawn(struct hc_check *check, struct hc_tensor shape, uint64_t stream,
                              double shift, double spread)
{
    struct hc_tensor t = hc_check_tensor(check, shape);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i,
                      shift + spread * hc_random_normal(hc_check_seed(check), stream, (uint64_t)i));
    return t;
}

/* x's mean is far from 0, as a shortcut for the variance would show. */
static struct batch batch_of(struct hc_check *check, const struct shares *shares,
                             enum hc_format format)
{
    struct batch b = {check, shares, {.op = HC_OP_bn_leaky_train}, {.op = HC_OP_bn_leaky_bwd}};
    int64_t rows = 0;
    for (int r = 0; r < shares->ranks; r++)
        rows += shares->rows[r];
    struct hc_tensor x = hc_tensor2(format, rows, CHANNELS, NULL);
    struct hc_tensor v = hc_tensor1(HC_FP32, CHANNELS, NULL);
    b.train.params.bn = b.back.params.bn = (struct hc_bn){1e-5, 0.1, 0.1, false};
    b.train.in[HC_BN_X] = drawn(check, x, 1, 50, 1);
    b.train.in[HC_BN_GAMMA] = drawn(check, v, 2, 1, 0.1);
    b.train.in[HC_BN_BETA] = drawn(check, v, 3, 0, 1);
    b.train.in[HC_BN_MEAN] = drawn(check, v, 4, 0, 1);
    b.train.in[HC_BN_VARIANCE] = drawn(check, v, 5, 4, 0.1);
    b.train.out[HC_BN_Y] = hc_check_tensor(check, x);
    for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++)
        b.train.out[o] = hc_check_tensor(check, v);
    b.back.in[HC_BN_LEAKY_BWD_X] = b.train.in[HC_BN_X];
    b.back.in[HC_BN_LEAKY_BWD_Y] = b.train.out[HC_BN_Y];
    b.back.in[HC_BN_LEAKY_BWD_DY] = drawn(check, x, 6, 0, 1);
    b.back.in[HC_BN_LEAKY_BWD_GAMMA] = b.train.in[HC_BN_GAMMA];
    b.back.in[HC_BN_LEAKY_BWD_MEAN] = b.train.out[HC_BN_SAVED_MEAN];
    b.back.in[HC_BN_LEAKY_BWD_INVSTD] = b.train.out[HC_BN_SAVED_INVSTD];
    b.back.out[HC_BN_BWD_DX] = hc_check_tensor(check, x);
    b.back.out[HC_BN_BWD_DGAMMA] = hc_check_tensor(check, v);
    b.back.out[HC_BN_BWD_DBETA] = hc_check_tensor(check, v);
    return b;
}

static struct hc_tensor rows_at(const struct hc_tensor *t, int64_t first, int64_t rows)
{
    char *data = t->data;
    return hc_tensor2(t->format, rows, CHANNELS,
                      data + (size_t)(first * CHANNELS) * (size_t)hc_formats[t->format].bytes);
}

static struct hc_tensor row_at(const struct hc_tensor *t, int64_t row)
{
    return hc_tensor1(t->format, CHANNELS, rows_at(t, row, 1).data);
}

/* What one rank does with its rows, from row `first` on. */
typedef bool rank_work(const struct batch *b, struct hc_tensor *shared, int rank, int64_t first,
                       int64_t rows);

static bool each_rank(const struct batch *b, struct hc_tensor *shared, rank_work *work)
{
    int64_t first = 0;
    bool ok = true;
    for (int r = 0; r < b->shares->ranks && ok; first += b->shares->rows[r++])
        ok = work(b, shared, r, first, b->shares->rows[r]);
    return ok;
}

/* What ranks share forward, and back. */
enum { MEANS, VARIANCES, COUNTS, VARIANCE, SHARED_FORWARD };
enum { DGAMMAS, DBETAS, MEAN_DGAMMA, MEAN_DBETA, DZ, SHARED_BACK };

static bool moments(const struct batch *b, struct hc_tensor *shared, int r, int64_t first,
                    int64_t rows)
{
    struct hc_call call = {.op = HC_OP_bn_moments,
                           .in = {[HC_BN_MOMENTS_X] = rows_at(&b->train.in[HC_BN_X], first, rows)},
                           .out = {[HC_BN_MOMENTS_MEAN] = row_at(&shared[MEANS], r),
                                   [HC_BN_MOMENTS_VARIANCE] = row_at(&shared[VARIANCES], r)}};
    hc_tensor_set(&shared[COUNTS], r, (double)rows);
    return hc_do(b->check, &call) == HC_OK;
}

static bool normalise(const struct batch *b, struct hc_tensor *shared, int r, int64_t first,
                      int64_t rows)
{
    const struct hc_call *whole = &b->train;
    struct hc_call call = {.op = HC_OP_bn_leaky_infer,
                           .in = {[HC_BN_X] = rows_at(&whole->in[HC_BN_X], first, rows),
                                  [HC_BN_GAMMA] = whole->in[HC_BN_GAMMA],
                                  [HC_BN_BETA] = whole->in[HC_BN_BETA],
                                  [HC_BN_MEAN] = whole->out[HC_BN_SAVED_MEAN],
                                  [HC_BN_VARIANCE] = shared[VARIANCE]},
                           .out = {[HC_BN_Y] = rows_at(&whole->out[HC_BN_Y], first, rows)},
                           .params.bn = whole->params.bn};
    (void)r;
    return hc_do(b->check, &call) == HC_OK;
}

static bool forward(const struct batch *b)
{
    const struct hc_call *whole = &b->train;
    struct hc_tensor rows = hc_tensor2(HC_FP32, b->shares->ranks, CHANNELS, NULL);
    struct hc_tensor shared[SHARED_FORWARD] = {
        [MEANS] = hc_check_tensor(b->check, rows),
        [VARIANCES] = hc_check_tensor(b->check, rows),
        [COUNTS] = hc_check_vector(b->check, HC_I32, b->shares->ranks),
        [VARIANCE] = hc_check_vector(b->check, HC_FP32, CHANNELS)};
    struct hc_call combine = {
        .op = HC_OP_bn_combine,
        .in = {[HC_BN_COMBINE_MEANS] = shared[MEANS],
               [HC_BN_COMBINE_VARIANCES] = shared[VARIANCES],
               [HC_BN_COMBINE_COUNTS] = shared[COUNTS],
               [HC_BN_COMBINE_MEAN] = whole->in[HC_BN_MEAN],
               [HC_BN_COMBINE_VARIANCE] = whole->in[HC_BN_VARIANCE]},
        .out = {[HC_BN_COMBINE_SAVED_MEAN] = whole->out[HC_BN_SAVED_MEAN],
                [HC_BN_COMBINE_SAVED_VARIANCE] = shared[VARIANCE],
                [HC_BN_COMBINE_SAVED_INVSTD] = whole->out[HC_BN_SAVED_INVSTD],
                [HC_BN_COMBINE_NEW_MEAN] = whole->out[HC_BN_NEW_MEAN],
                [HC_BN_COMBINE_NEW_VARIANCE] = whole->out[HC_BN_NEW_VARIANCE]},
        .params.bn = whole->params.bn};
    return each_rank(b, shared, moments) && hc_do(b->check, &combine) == HC_OK &&
           each_rank(b, shared, normalise);
}

static bool sums(const struct batch *b, struct hc_tensor *shared, int r, int64_t first,
                 int64_t rows)
{
    const struct hc_call *whole = &b->back;
    struct hc_call call = {
        .op = HC_OP_bn_bwd_sums,
        .in = {[HC_BN_BWD_SUMS_X] = rows_at(&whole->in[HC_BN_LEAKY_BWD_X], first, rows),
               [HC_BN_BWD_SUMS_DY] = rows_at(&shared[DZ], first, rows),
               [HC_BN_BWD_SUMS_MEAN] = whole->in[HC_BN_LEAKY_BWD_MEAN],
               [HC_BN_BWD_SUMS_INVSTD] = whole->in[HC_BN_LEAKY_BWD_INVSTD]},
        .out = {[HC_BN_BWD_SUMS_DGAMMA] = row_at(&shared[DGAMMAS], r),
                [HC_BN_BWD_SUMS_DBETA] = row_at(&shared[DBETAS], r)}};
    return hc_do(b->check, &call) == HC_OK;
}

static bool gradient(const struct batch *b, struct hc_tensor *shared, int r, int64_t first,
                     int64_t rows)
{
    const struct hc_call *whole = &b->back;
    struct hc_call call = {
        .op = HC_OP_bn_bwd_apply,
        .in = {[HC_BN_BWD_APPLY_X] = rows_at(&whole->in[HC_BN_LEAKY_BWD_X], first, rows),
               [HC_BN_BWD_APPLY_DY] = rows_at(&shared[DZ], first, rows),
               [HC_BN_BWD_APPLY_GAMMA] = whole->in[HC_BN_LEAKY_BWD_GAMMA],
               [HC_BN_BWD_APPLY_MEAN] = whole->in[HC_BN_LEAKY_BWD_MEAN],
               [HC_BN_BWD_APPLY_INVSTD] = whole->in[HC_BN_LEAKY_BWD_INVSTD],
               [HC_BN_BWD_APPLY_MEAN_DGAMMA] = shared[MEAN_DGAMMA],
               [HC_BN_BWD_APPLY_MEAN_DBETA] = shared[MEAN_DBETA]},
        .out = {[HC_BN_BWD_APPLY_DX] = rows_at(&whole->out[HC_BN_BWD_DX], first, rows)}};
    (void)r;
    return hc_do(b->check, &call) == HC_OK;
}

/* The sum over ranks, and the same divided by all elements. */
static bool reduce(const struct batch *b, struct hc_tensor parts, struct hc_tensor sum,
                   struct hc_tensor mean)
{
    struct hc_call call = {.op = HC_OP_all_reduce,
                           .in = {[HC_ALL_REDUCE_X] = parts},
                           .out = {[HC_ALL_REDUCE_OUT] = sum},
                           .params.all_reduce = {.sum = HC_FP32, .before = 1, .after = 1}};
    bool ok = hc_do(b->check, &call) == HC_OK;
    call.params.all_reduce.after = (double)b->back.in[HC_BN_LEAKY_BWD_X].shape[0];
    call.out[HC_ALL_REDUCE_OUT] = mean;
    return ok && hc_do(b->check, &call) == HC_OK;
}

static bool backward(const struct batch *b)
{
    const struct hc_call *whole = &b->back;
    struct hc_tensor rows = hc_tensor2(HC_FP32, b->shares->ranks, CHANNELS, NULL);
    struct hc_tensor shared[SHARED_BACK] = {
        [DGAMMAS] = hc_check_tensor(b->check, rows),
        [DBETAS] = hc_check_tensor(b->check, rows),
        [MEAN_DGAMMA] = hc_check_vector(b->check, HC_FP32, CHANNELS),
        [MEAN_DBETA] = hc_check_vector(b->check, HC_FP32, CHANNELS),
        [DZ] = hc_check_tensor(b->check, whole->in[HC_BN_LEAKY_BWD_X])};
    struct hc_call leaky = {.op = HC_OP_leaky_relu_bwd,
                            .in = {[HC_LEAKY_BWD_Y] = whole->in[HC_BN_LEAKY_BWD_Y],
                                   [HC_LEAKY_BWD_DY] = whole->in[HC_BN_LEAKY_BWD_DY]},
                            .out = {[HC_LEAKY_BWD_DX] = shared[DZ]},
                            .params.leaky = {whole->params.bn.slope}};
    return hc_do(b->check, &leaky) == HC_OK && each_rank(b, shared, sums) &&
           reduce(b, shared[DGAMMAS], whole->out[HC_BN_BWD_DGAMMA], shared[MEAN_DGAMMA]) &&
           reduce(b, shared[DBETAS], whole->out[HC_BN_BWD_DBETA], shared[MEAN_DBETA]) &&
           each_rank(b, shared, gradient);
}

static void claim_whole(const struct batch *b, const struct hc_call *whole)
{
    struct hc_accumulator sums = {.precision = 24, .block = 1};
    for (int o = 0; o < hc_ops[whole->op].outputs; o++)
        for (int64_t i = 0; i < hc_tensor_count(&whole->out[o]); i++) {
            struct hc_element e = {whole, o, i};
            struct hc_exact want = hc_reference_value(whole, o, i);
            double bound = whole->op == HC_OP_bn_leaky_train
                               ? hc_bound_shared(&e, b->shares->rows, b->shares->ranks, &want)
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
            struct batch b = batch_of(check, &ways[s], formats[f]);
            if (!forward(&b) || !backward(&b))
                return;
            claim_whole(&b, &b.train);
            claim_whole(&b, &b.back);
        }
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/ranks-parts",
     .title = "1, 2, 4 and 8 ranks that share a batch evenly or not have the batch norm of the "
              "whole batch, forward and back",
     .source = "pytorch v1.13.1 torch/nn/modules/_functions.py: SyncBatchNorm",
     .run = parts},
};

HC_CASES(batchnorm_ranks, cases);
