/* The sums of batch norm over whole numbers, which fill fp32's 24 bits and never leave them: no
   partial sum is rounded in whatever order, so the results are settled.

   A lane that keeps 20 bits may hide: sixteen lanes share a sum of 24 bits, and each has 20. So all
   that counts lies in one of `stride` elements here, or in one stretch of so many, wherever a
   kernel's lanes lie, and the others are 0 off the mean. The numbers of elements are powers of two,
   so that means are exact, too: nothing is rounded at all.

   bn_moments: x is 3 plus or minus a, in pairs, with odd a; the mean is 3, the variance is
   sum(a^2) / M, and the sum of squares stays below 2^24. bn_bwd_sums: x - mean is 1, or in one
   channel -1 at each third element, and invstd is 1; dy is a, so that dbeta is the sum of a, and
   dgamma that with those signs, each below 2^24. */
#include <math.h>

#include "case.h"

enum { ELEMENTS = 4096, CHANNELS = 3, MEAN = 3 };

static const int strides[] = {1, 4, 8, 16, 32, 64};

/* Whether element i has a share in the sums: one in `stride`, or the first of so many parts. */
static bool counts(int64_t i, int stride, bool stretch)
{
    return stretch ? i < ELEMENTS / stride : i % stride == stride / 2;
}

/* Odd numbers up to `most`, drawn anew for each channel. */
static double odd(const struct hc_check *check, int64_t i, int channel, double most)
{
    double u = hc_random_uniform(hc_check_seed(check), 40 + (uint64_t)channel, (uint64_t)i);
    return 2 * floor((most / 2 - 1) * (0.5 + u / 2)) + 1;
}

static bool moments(struct hc_check *check, int stride, bool stretch, struct hc_comparisons *all)
{
    struct hc_call call = {.op = HC_OP_bn_moments};
    struct hc_tensor x =
        hc_check_tensor(check, hc_tensor4(HC_FP32, 1, 1, ELEMENTS, CHANNELS, NULL));
    call.in[HC_BN_MOMENTS_X] = x;
    call.out[HC_BN_MOMENTS_MEAN] = hc_check_vector(check, HC_FP32, CHANNELS);
    call.out[HC_BN_MOMENTS_VARIANCE] = hc_check_vector(check, HC_FP32, CHANNELS);
    double squares[CHANNELS] = {0};
    double most = floor(sqrt(0x1p24 * stride / ELEMENTS));
    for (int c = 0; c < CHANNELS; c++) {
        int64_t pair = 0;
        double a = 0;
        for (int64_t i = 0; i < ELEMENTS; i++) {
            bool own = counts(i, stride, stretch);
            a = own && pair % 2 == 0 ? odd(check, i, c, most) : a;
            double part = !own ? 0 : pair++ % 2 ? -a : a;
            squares[c] += part * part;
            hc_tensor_set(&x, i * CHANNELS + c, MEAN + part);
        }
    }
    if (hc_do(check, &call) != HC_OK)
        return false;
    for (int c = 0; c < CHANNELS; c++) {
        double mean = hc_tensor_get(&call.out[HC_BN_MOMENTS_MEAN], c);
        double variance = hc_tensor_get(&call.out[HC_BN_MOMENTS_VARIANCE], c);
        all->checked += 2;
        if (mean != MEAN)
            hc_comparisons_wrong(all, "one %s of %d: want mean 3, got %.9g",
                                 stretch ? "stretch" : "element", stride, mean);
        if (variance != squares[c] / ELEMENTS)
            hc_comparisons_wrong(all, "one %s of %d: want variance %.9g, got %.9g",
                                 stretch ? "stretch" : "element", stride, squares[c] / ELEMENTS,
                                 variance);
    }
    return true;
}

static bool sums(struct hc_check *check, int stride, bool stretch, struct hc_comparisons *all)
{
    struct hc_call call = {.op = HC_OP_bn_bwd_sums};
    struct hc_tensor x =
        hc_check_tensor(check, hc_tensor4(HC_FP32, 1, 1, ELEMENTS, CHANNELS, NULL));
    struct hc_tensor dy = hc_check_tensor(check, x);
    call.in[HC_BN_BWD_SUMS_X] = x;
    call.in[HC_BN_BWD_SUMS_DY] = dy;
    for (int i = HC_BN_BWD_SUMS_MEAN; i <= HC_BN_BWD_SUMS_INVSTD; i++)
        call.in[i] = hc_check_vector(check, HC_FP32, CHANNELS);
    call.out[HC_BN_BWD_SUMS_DGAMMA] = hc_check_vector(check, HC_FP32, CHANNELS);
    call.out[HC_BN_BWD_SUMS_DBETA] = hc_check_vector(check, HC_FP32, CHANNELS);
    double want[2][CHANNELS] = {{0}};
    double most = floor(0x1p24 * stride / ELEMENTS);
    for (int c = 0; c < CHANNELS; c++) {
        hc_tensor_set(&call.in[HC_BN_BWD_SUMS_MEAN], c, MEAN);
        hc_tensor_set(&call.in[HC_BN_BWD_SUMS_INVSTD], c, 1);
        for (int64_t i = 0; i < ELEMENTS; i++) {
            double side = c == 1 && i % 3 == 0 ? -1 : 1;
            double g = counts(i, stride, stretch) ? odd(check, i, c, most) : 0;
            hc_tensor_set(&x, i * CHANNELS + c, MEAN + side);
            hc_tensor_set(&dy, i * CHANNELS + c, g);
            want[0][c] += side * g;
            want[1][c] += g;
        }
    }
    if (hc_do(check, &call) != HC_OK)
        return false;
    for (int o = HC_BN_BWD_SUMS_DGAMMA; o <= HC_BN_BWD_SUMS_DBETA; o++)
        for (int c = 0; c < CHANNELS; c++) {
            double right = want[o == HC_BN_BWD_SUMS_DBETA][c];
            double got = hc_tensor_get(&call.out[o], c);
            all->checked++;
            if (got != right)
                hc_comparisons_wrong(all, "one %s of %d: want %s %.9g, got %.9g",
                                     stretch ? "stretch" : "element", stride,
                                     o == HC_BN_BWD_SUMS_DBETA ? "dbeta" : "dgamma", right, got);
        }
    return true;
}

typedef bool one_call(struct hc_check *check, int stride, bool stretch, struct hc_comparisons *all);

static void each(struct hc_check *check, one_call *call)
{
    struct hc_comparisons all = {.what = "sums"};
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++)
        for (int stretch = 0; stretch < (strides[s] > 1 ? 2 : 1); stretch++)
            if (!call(check, strides[s], stretch, &all))
                return;
    hc_claim_comparisons(check, &all);
}

static void run_moments(struct hc_check *check)
{
    each(check, moments);
}

static void run_sums(struct hc_check *check)
{
    each(check, sums);
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/whole-moments",
     .title = "mean and variance of whole numbers keep fp32's 24 bits, in whatever lane they lie",
     .source = "contract in src/op/norm.h: sums are taken in fp32",
     .level = HC_STANDARD,
     .run = run_moments},
    {.name = "batchnorm/whole-gradient-sums",
     .title = "a rank's sums of gradients over whole numbers keep fp32's 24 bits, in any lane",
     .source = "contract in src/op/norm.h: sums are taken in fp32",
     .level = HC_STANDARD,
     .run = run_sums},
};

HC_CASES(batchnorm_whole, cases);
