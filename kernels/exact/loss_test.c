#include <math.h>

#include "kernels/exact/testing.h"

static struct hc_tensor labels(int64_t n, const int *values)
{
    struct hc_tensor t = made(hc_tensor1(HC_I32, n, NULL));
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)t.data)[i] = values[i];
    return t;
}

static double loss(enum hc_format format, int64_t rows, int64_t columns, const double *z,
                   const int *label, bool sum)
{
    struct hc_call call = {.op = HC_OP_xent,
                           .in = {vector_of(format, rows * columns, z), labels(rows, label)},
                           .out = {made(hc_tensor1(HC_FP32, 1, NULL))},
                           .params.xent.sum = sum};
    call.in[HC_XENT_LOGITS] = hc_tensor2(format, rows, columns, call.in[HC_XENT_LOGITS].data);
    call_exact(&call);
    return hc_tensor_get(&call.out[HC_XENT_LOSS], 0);
}

/* ln 4 to 20 digits; the C library's logf is good to one ulp. */
static const double ln4 = 1.3862943611198906188;
static const double ulp = 0x1p-23;

Test(loss, equal_logits_cost_the_logarithm_of_their_number)
{
    double z[] = {7, 7, 7, 7, -300, -300, -300, -300};
    int label[] = {2, 0};
    cr_assert_float_eq(loss(HC_FP16, 1, 4, z, label, false), ln4, ulp);
    cr_assert_float_eq(loss(HC_BF16, 2, 4, z, label, false), ln4, ulp);
    cr_assert_float_eq(loss(HC_FP32, 2, 4, z, label, true), 2 * ln4, 2 * ulp);
}

Test(loss, large_logits_neither_overflow_nor_vanish)
{
    double z[] = {1000, -1000};
    int right[] = {0};
    int wrong[] = {1};
    cr_assert_eq(loss(HC_FP32, 1, 2, z, right, false), 0);
    cr_assert_eq(loss(HC_FP32, 1, 2, z, wrong, false), 2000);
}

Test(loss, a_nan_or_an_infinite_logit_makes_it_nan)
{
    double z[] = {1, (double)NAN, 2, 1, 2, (double)INFINITY};
    int label[] = {0};
    cr_assert(isnan(loss(HC_FP32, 1, 3, z, label, false)));
    cr_assert(isnan(loss(HC_FP32, 1, 3, z + 3, label, false)));
}

static struct hc_tensor gradient(enum hc_format to, bool sum, double upstream)
{
    double z[] = {5, 5, 5, 5, 1, 1, 1, 1};
    int label[] = {1, 3};
    struct hc_call call = {
        .op = HC_OP_xent_bwd,
        .in = {vector_of(HC_FP16, 8, z), labels(2, label), vector_of(HC_FP32, 1, &upstream)},
        .out = {made(hc_tensor2(to, 2, 4, NULL))},
        .params.xent.sum = sum};
    call.in[HC_XENT_LOGITS] = hc_tensor2(HC_FP16, 2, 4, call.in[HC_XENT_LOGITS].data);
    call_exact(&call);
    return call.out[HC_XENT_DLOGITS];
}

Test(loss, the_gradient_is_softmax_less_one_at_the_label_times_upstream)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < 8; i++) {
            double want = 0.25 - (i == 1 || i == 7);
            struct hc_tensor mean = gradient(formats[f], false, 512);
            struct hc_tensor sum = gradient(formats[f], true, 512);
            cr_assert_eq(hc_tensor_get(&mean, i), want * 256);
            cr_assert_eq(hc_tensor_get(&sum, i), want * 512);
        }
}
