#include <math.h>

#include "kernels/exact/testing.h"

/* Numbers are chosen so that nearly everything is exact. There are four rows of
   middle + spread * {1, -1, 1, -1}, and eps is 3, so that invstd is 1/2 where the spread is 1. */
enum { ROWS = 4 };

static double spread(int64_t c)
{
    return ldexp(1, (int)(c % 3));
}

static double middle(int64_t c)
{
    return (double)(c % 7 - 3);
}

static struct hc_tensor filled(enum hc_format format, int64_t channels, double (*value)(int64_t))
{
    struct hc_tensor t = made(hc_tensor1(format, channels, NULL));
    for (int64_t c = 0; c < channels; c++)
        hc_tensor_set(&t, c, value(c));
    return t;
}

static double gamma_of(int64_t c)
{
    return (double)(c % 5 + 1);
}

static double beta_of(int64_t c)
{
    return (double)(c % 3) - 1;
}

static double eight(int64_t c)
{
    return (double)(8 + c - c);
}

static struct hc_tensor alternating(enum hc_format format, int64_t channels)
{
    struct hc_tensor x = made(hc_tensor4(format, 2, 2, 1, channels, NULL));
    for (int64_t i = 0; i < ROWS * channels; i++) {
        int64_t c = i % channels;
        hc_tensor_set(&x, i, middle(c) + (i / channels % 2 ? -1 : 1) * spread(c));
    }
    return x;
}

static struct hc_call training(enum hc_format h, enum hc_format statistics, int64_t channels)
{
    struct hc_tensor per_channel = hc_tensor1(HC_FP32, channels, NULL);
    struct hc_tensor running = hc_tensor1(statistics, channels, NULL);
    return (struct hc_call){.op = HC_OP_bn_train,
                            .in = {alternating(h, channels), filled(h, channels, gamma_of),
                                   filled(h, channels, beta_of),
                                   filled(statistics, channels, eight),
                                   filled(statistics, channels, eight)},
                            .out = {made(hc_tensor4(h, 2, 2, 1, channels, NULL)), made(per_channel),
                                    made(per_channel), made(running), made(running)},
                            .params.bn = {.eps = 3, .momentum = 0.25}};
}

static void hold_training(enum hc_format h, enum hc_format statistics, int64_t channels)
{
    struct hc_call call = training(h, statistics, channels);
    call_exact(&call);
    for (int64_t c = 0; c < channels; c++) {
        double s2 = spread(c) * spread(c);
        cr_assert_eq(hc_tensor_get(&call.out[HC_BN_SAVED_MEAN], c), middle(c));
        double unbiased = 8 + 0.25 * ((double)(float)(4 * s2 / 3) - 8);
        cr_assert_eq(hc_tensor_get(&call.out[HC_BN_NEW_MEAN], c),
                     hc_round(statistics, 8 + 0.25 * (middle(c) - 8)));
        cr_assert_eq(hc_tensor_get(&call.out[HC_BN_NEW_VARIANCE], c),
                     hc_round(statistics, (double)(float)unbiased));
        if (s2 != 1)
            continue;
        cr_assert_eq(hc_tensor_get(&call.out[HC_BN_SAVED_INVSTD], c), 0.5);
        for (int64_t i = 0; i < ROWS; i++)
            cr_assert_eq(hc_tensor_get(&call.out[HC_BN_Y], i * channels + c),
                         (i % 2 ? -0.5 : 0.5) * gamma_of(c) + beta_of(c));
    }
}

static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};

Test(norm, training_statistics_and_outputs_follow_the_definition)
{
    for (int f = 0; f < 9; f++) {
        hold_training(formats[f % 3], formats[f / 3], 1);
        hold_training(formats[f % 3], formats[f / 3], 16);
        hold_training(formats[f % 3], formats[f / 3], 37);
    }
}

Test(norm, one_row_has_no_variance_and_is_not_unbiased)
{
    double x = 5;
    double one = 1;
    double zero = 0;
    struct hc_tensor t = made(hc_tensor1(HC_FP32, 1, NULL));
    struct hc_call call = {.op = HC_OP_bn_train,
                           .in = {vector_of(HC_FP32, 1, &x), vector_of(HC_FP32, 1, &one),
                                  vector_of(HC_FP32, 1, &one), vector_of(HC_FP32, 1, &zero),
                                  vector_of(HC_FP32, 1, &one)},
                           .out = {made(t), made(t), made(t), made(t), made(t)},
                           .params.bn = {.eps = 0.25, .momentum = 0.5}};
    call.in[HC_BN_X] = hc_tensor4(HC_FP32, 1, 1, 1, 1, call.in[HC_BN_X].data);
    call.out[HC_BN_Y] = hc_tensor4(HC_FP32, 1, 1, 1, 1, call.out[HC_BN_Y].data);
    call_exact(&call);
    static const double want[] = {1, 5, 2, 2.5, 0.5};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(hc_tensor_get(&call.out[i], 0), want[i], "output %d", i);
}

Test(norm, the_variance_of_large_numbers_does_not_cancel)
{
    /* E[x^2] - E[x]^2 would be 0 here: 10^8 needs 27 bits. */
    double x[] = {10001, 9999};
    double one = 1;
    struct hc_tensor t = made(hc_tensor1(HC_FP32, 1, NULL));
    struct hc_tensor p = vector_of(HC_FP32, 1, &one);
    struct hc_call call = {
        .op = HC_OP_bn_train,
        .in = {vector_of(HC_FP32, 2, x), p, p, p, p},
        .out = {made(hc_tensor4(HC_FP32, 2, 1, 1, 1, NULL)), made(t), made(t), made(t), made(t)},
        .params.bn = {.eps = 3, .momentum = 1}};
    call.in[HC_BN_X] = hc_tensor4(HC_FP32, 2, 1, 1, 1, call.in[HC_BN_X].data);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_BN_SAVED_INVSTD], 0), 0.5);
    cr_assert_eq(hc_tensor_get(&call.out[HC_BN_NEW_VARIANCE], 0), 2);
    cr_assert_eq(hc_tensor_get(&call.out[HC_BN_Y], 0), 1.5);
}

static double one_of(int64_t c)
{
    return (double)(1 + c - c);
}

Test(norm, inference_uses_the_running_statistics)
{
    for (int f = 0; f < 9; f++) {
        enum hc_format h = formats[f % 3];
        int64_t channels = 19;
        struct hc_call call = {.op = HC_OP_bn_infer,
                               .in = {alternating(h, channels), filled(h, channels, gamma_of),
                                      filled(h, channels, beta_of),
                                      filled(formats[f / 3], channels, middle),
                                      filled(formats[f / 3], channels, one_of)},
                               .out = {made(hc_tensor4(h, 2, 2, 1, channels, NULL))},
                               .params.bn = {.eps = 3}};
        call_exact(&call);
        for (int64_t i = 0; i < ROWS * channels; i++) {
            int64_t c = i % channels;
            double x = i / channels % 2 ? -spread(c) : spread(c);
            cr_assert_eq(hc_tensor_get(&call.out[HC_BN_Y], i),
                         hc_round(h, x * 0.5 * gamma_of(c) + beta_of(c)));
        }
    }
}

static double half_of(int64_t c)
{
    return 0.5 + (double)(c - c);
}

/* dy is 1, 2, 4, 9, times 1 or 2 by channel. It sums to 16, and with the signs of xhat to
   1 - 2 + 4 - 9 = -6. */
static double dy_of(int64_t row, int64_t c)
{
    static const double dy[] = {1, 2, 4, 9};
    return dy[row] * (double)(c % 2 + 1);
}

Test(norm, gradients_follow_the_definition)
{
    for (int f = 0; f < 9; f++) {
        enum hc_format h = formats[f % 3];
        enum hc_format to = formats[f / 3];
        int64_t channels = 21;
        struct hc_tensor dy = made(hc_tensor4(h, 2, 2, 1, channels, NULL));
        for (int64_t i = 0; i < ROWS * channels; i++)
            hc_tensor_set(&dy, i, dy_of(i / channels, i % channels));
        struct hc_call call = {
            .op = HC_OP_bn_bwd,
            .in = {alternating(h, channels), dy, filled(h, channels, gamma_of),
                   filled(HC_FP32, channels, middle), filled(HC_FP32, channels, half_of)},
            .out = {made(hc_tensor4(to, 2, 2, 1, channels, NULL)),
                    made(hc_tensor1(to, channels, NULL)), made(hc_tensor1(to, channels, NULL))}};
        call_exact(&call);
        for (int64_t c = 0; c < channels; c++) {
            double times = (double)(c % 2 + 1);
            double dbeta = 16 * times;
            double dgamma = -6 * times * spread(c) / 2;
            cr_assert_eq(hc_tensor_get(&call.out[HC_BN_BWD_DGAMMA], c), hc_round(to, dgamma));
            cr_assert_eq(hc_tensor_get(&call.out[HC_BN_BWD_DBETA], c), hc_round(to, dbeta));
            for (int64_t i = 0; i < ROWS; i++) {
                double xhat = (i % 2 ? -1 : 1) * spread(c) / 2;
                double dx = gamma_of(c) / 2 * (dy_of(i, c) - dbeta / 4 - xhat * dgamma / 4);
                cr_assert_eq(hc_tensor_get(&call.out[HC_BN_BWD_DX], i * channels + c),
                             hc_round(to, dx));
            }
        }
    }
}
