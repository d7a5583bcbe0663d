/* Batch norm of batches whose last rows are unlike the others. A kernel that takes
   statistics chunk by chunk must weigh each chunk's mean by its own rows, and the last chunk is
   short. Values are
   small integers, so that mean and variance are known: with a rows of 0 and b rows of d, M = a + b,
     mean = b d / M,    var = a b d^2 / M^2.
   Any order of M additions in fp32 is off by M u of their sum of magnitudes (Higham, Accuracy and
   Stability of Numerical Algorithms, section 4.2), here the sum itself: all terms have one sign.
   The mean's error e adds M e^2 to the squares, (M u)^2 of them at most, and what follows is a
   handful of roundings: 2 M u holds for all three. A chunk's mean that is weighed by a whole
   chunk's rows is off by hundreds of times the variance. */
#include <math.h>

#include "case.h"

enum { CHANNELS = 4 };

struct batch {
    int64_t rows;
    int64_t
        last; /* rows at the end, whose elements are the channel's number + 1; all others are 0 */
};

/* Around powers of two of elements, and far from them. */
static const struct batch batches[] = {{40, 3},    {1031, 7},   {2048, 1},  {8192, 8},
                                       {8197, 5},  {16389, 5},  {20000, 1}, {33000, 232},
                                       {65541, 5}, {70001, 100}};

static void claim_statistics(struct hc_check *check, const struct hc_call *call,
                             const struct batch *b)
{
    double m = (double)b->rows;
    double off = 2 * m * 0x1p-24;
    for (int c = 0; c < CHANNELS; c++) {
        double d = c + 1;
        double mean = (double)b->last * d / m;
        double var = (double)(b->rows - b->last) * (double)b->last * d * d / (m * m);
        double invstd = 1 / sqrt(var + call->params.bn.eps);
        double unbiased = var * m / (m - 1);
        hc_claim_within(check, "mean", mean, hc_tensor_get(&call->out[HC_BN_SAVED_MEAN], c),
                        off * mean);
        hc_claim_within(check, "1 / deviation", invstd,
                        hc_tensor_get(&call->out[HC_BN_SAVED_INVSTD], c), off * invstd);
        hc_claim_within(check, "running variance", 0.5 + 0.5 * unbiased,
                        hc_tensor_get(&call->out[HC_BN_NEW_VARIANCE], c),
                        off * (0.5 + 0.5 * unbiased));
    }
}

static void last_rows(struct hc_check *check)
{
    for (size_t k = 0; k < sizeof batches / sizeof batches[0]; k++) {
        const struct batch *b = &batches[k];
        struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {1e-5, 0.5, 0}};
        struct hc_tensor x =
            hc_check_tensor(check, hc_tensor4(HC_FP32, b->rows, 1, 1, CHANNELS, NULL));
        call.in[HC_BN_X] = x;
        call.out[HC_BN_Y] = hc_check_tensor(check, x);
        for (int i = 1; i < 5; i++) {
            call.in[i] = hc_check_vector(check, HC_FP32, CHANNELS);
            call.out[i] = hc_check_vector(check, HC_FP32, CHANNELS);
        }
        for (int c = 0; c < CHANNELS; c++) {
            hc_tensor_set(&call.in[HC_BN_GAMMA], c, 1);
            hc_tensor_set(&call.in[HC_BN_VARIANCE], c, 1);
        }
        for (int64_t i = (b->rows - b->last) * CHANNELS; i < b->rows * CHANNELS; i++)
            hc_tensor_set(&x, i, (double)(i % CHANNELS + 1));
        if (hc_do(check, &call) != HC_OK)
            return;
        claim_statistics(check, &call, b);
    }
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/last-rows-unlike-the-others",
     .title = "statistics of batches whose last rows are unlike the others weigh every row alike",
     .source = "Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing "
               "sample variances, 1979",
     .run = last_rows},
};

HC_CASES(batchnorm_steps, cases);
