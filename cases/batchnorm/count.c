/* Batch norm over more elements than half can count.

   The running variance gets the batch's times M / (M - 1). M is 65,536 at a batch of 256 images of
   16 x 16, and half has neither M, which is infinite there, nor, from 2048 on, both M and M - 1.

   Here x is 1 and -1 in turn, and the last one of an odd number is 0. The sums are integers below
   2^24, and so exact in whatever order they are taken: 0, and M or M - 1. From a running variance
   of 0 and with a momentum of 1 the new one is that number over M - 1. Dividing by M, making
   M / (M - 1) and multiplying rounds three times, by a factor of at most 1 + u each, u = 2^-24; an
   addition of 0 and a product by 1 round nothing. What is wanted is at most 4097 / 4096, so that
   the error is at most 1.00025 ((1 + u)^3 - 1) < 3.01 u. */
#include "case.h"

static const int64_t counts[][4] = {{241, 1, 17, 1}, {256, 16, 16, 1}, {17, 61, 65, 1}};

static void count_beyond_half(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_FP32, HC_BF16};
    for (int k = 0; k < 3; k++) {
        const int64_t *d = counts[k];
        struct hc_tensor x = hc_tensor4(formats[k], d[0], d[1], d[2], d[3], NULL);
        struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {.eps = 1e-5, .momentum = 1}};
        call.in[HC_BN_X] = hc_check_tensor(check, x);
        call.out[HC_BN_Y] = hc_check_tensor(check, x);
        for (int i = HC_BN_GAMMA; i <= HC_BN_VARIANCE; i++)
            call.in[i] = hc_check_vector(check, HC_FP32, 1);
        for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++)
            call.out[o] = hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set(&call.in[HC_BN_GAMMA], 0, 1);
        int64_t n = hc_tensor_count(&x);
        int64_t m = n / 2 * 2;
        for (int64_t i = 0; i < m; i++)
            hc_tensor_set(&call.in[HC_BN_X], i, i % 2 ? -1 : 1);
        if (hc_do(check, &call) != HC_OK)
            return;
        double want = (double)m / (double)(n - 1);
        hc_claim_value(check, "mean", 0, hc_tensor_get(&call.out[HC_BN_NEW_MEAN], 0));
        hc_claim_within(check, "running variance", want,
                        hc_tensor_get(&call.out[HC_BN_NEW_VARIANCE], 0), 3.01 * 0x1p-24);
    }
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/count-beyond-half",
     .title = "the running variance's M / (M - 1) is right beyond 2048 and 65,504 elements",
     .source = "tensorflow/tensorflow PR 30230, 'XLA - Batch Norm - Bessel's correction generates "
               "NaNs in FP16', https://github.com/tensorflow/tensorflow/pull/30230",
     .level = HC_STANDARD,
     .run = count_beyond_half},
};

HC_CASES(batchnorm_count, cases);
