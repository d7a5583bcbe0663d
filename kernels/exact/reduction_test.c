#include <math.h>

#include "kernels/exact/testing.h"

static double reduce(enum hc_op op, struct hc_tensor x, struct hc_tensor y,
                     enum hc_format accumulator, enum hc_format to)
{
    struct hc_call call = {.op = op,
                           .in = {x, y},
                           .out = {made(hc_tensor1(to, 1, NULL))},
                           .params.reduce.accumulator = accumulator};
    call_exact(&call);
    return hc_tensor_get(&call.out[HC_REDUCE_OUT], 0);
}

static struct hc_tensor ones(enum hc_format format, int64_t n)
{
    struct hc_tensor t = made(hc_tensor1(format, n, NULL));
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(&t, i, 1);
    return t;
}

Test(reduce, a_16_bit_sum_of_ones_stops_where_one_is_half_an_ulp)
{
    struct hc_tensor half = ones(HC_FP16, 5000);
    struct hc_tensor brain = ones(HC_BF16, 5000);
    cr_assert_eq(reduce(HC_OP_sum, half, (struct hc_tensor){0}, HC_FP16, HC_FP32), 2048);
    cr_assert_eq(reduce(HC_OP_sum, brain, (struct hc_tensor){0}, HC_BF16, HC_FP32), 256);
    cr_assert_eq(reduce(HC_OP_sum, half, (struct hc_tensor){0}, HC_FP32, HC_FP32), 5000);
    cr_assert_eq(reduce(HC_OP_dot, half, half, HC_FP16, HC_FP16), 2048);
    cr_assert_eq(reduce(HC_OP_dot, brain, brain, HC_BF16, HC_FP32), 256);
    cr_assert_eq(reduce(HC_OP_dot, brain, brain, HC_FP32, HC_FP32), 5000);
}

Test(reduce, terms_are_added_in_the_order_in_which_they_stand)
{
    double x[] = {0x1p24, 1, -0x1p24, 1};
    double y[] = {1, 1, 1, 1};
    struct hc_tensor a = vector_of(HC_FP32, 4, x);
    struct hc_tensor b = vector_of(HC_FP32, 4, y);
    cr_assert_eq(reduce(HC_OP_sum, a, (struct hc_tensor){0}, HC_FP32, HC_FP32), 1);
    cr_assert_eq(reduce(HC_OP_dot, a, b, HC_FP32, HC_FP32), 1);
}

Test(reduce, a_product_is_rounded_into_the_accumulator_before_it_is_added)
{
    /* 3 * 683 = 2049 rounds to 2048 in half, and with -2048 leaves nothing. */
    double x[] = {-2048, 3};
    double y[] = {1, 683};
    struct hc_tensor a = vector_of(HC_FP16, 2, x);
    struct hc_tensor b = vector_of(HC_FP16, 2, y);
    cr_assert_eq(reduce(HC_OP_dot, a, b, HC_FP16, HC_FP32), 0);
    cr_assert_eq(reduce(HC_OP_dot, a, b, HC_FP32, HC_FP32), 1);
}

Test(reduce, the_sum_over_nothing_is_plus_zero)
{
    struct hc_tensor none = ones(HC_FP16, 0);
    double sum = reduce(HC_OP_sum, none, (struct hc_tensor){0}, HC_FP16, HC_FP16);
    cr_assert(sum == 0 && !signbit(sum));
    cr_assert_eq(reduce(HC_OP_dot, none, none, HC_FP32, HC_FP32), 0);
}

Test(reduce, squares_are_added_to_a_partial_sum_in_place)
{
    double x[] = {3, -4};
    double before = 0x1p24;
    struct hc_tensor sum = vector_of(HC_FP32, 1, &before);
    struct hc_call call = {.op = HC_OP_sum_squares,
                           .in = {vector_of(HC_FP16, 2, x), sum},
                           .out = {sum},
                           .params.reduce.accumulator = HC_FP32};
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&sum, 0), 0x1p24 + 24); /* 25 is a tie */
    call.in[HC_SUM_SQUARES_PARTIAL] = (struct hc_tensor){0};
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&sum, 0), 25);
}

static double entry(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return (double)((n * 31 + h * 7 + w * 3 + c * 5) % 23 - 11);
}

static void hold(enum hc_format in, enum hc_format out, int64_t window, int64_t channels)
{
    int64_t h = 2 * window;
    int64_t w = 3 * window;
    struct hc_tensor x = made(hc_tensor4(in, 2, h, w, channels, NULL));
    for (int64_t i = 0; i < hc_tensor_count(&x); i++)
        hc_tensor_set(
            &x, i,
            entry(i / channels / w / h, i / channels / w % h, i / channels % w, i % channels));
    struct hc_call call = {.op = HC_OP_avg_pool,
                           .in = {x},
                           .out = {made(hc_tensor4(out, 2, 2, 3, channels, NULL))},
                           .params.pool.window = (int)window};
    call_exact(&call);
    for (int64_t i = 0; i < hc_tensor_count(&call.out[HC_POOL_Y]); i++) {
        int64_t c = i % channels;
        int64_t q = i / channels % 3;
        int64_t p = i / channels / 3 % 2;
        double sum = 0;
        for (int64_t r = 0; r < window; r++)
            for (int64_t s = 0; s < window; s++)
                sum += entry(i / channels / 6, p * window + r, q * window + s, c);
        float mean = (float)(sum / (double)(window * window));
        cr_assert_eq(hc_tensor_get(&call.out[HC_POOL_Y], i), hc_round(out, (double)mean));
    }
}

static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};

Test(pool, a_mean_is_the_sum_over_its_window_divided_once)
{
    for (int f = 0; f < 9; f++)
        for (int64_t window = 1; window <= 3; window++) {
            hold(formats[f % 3], formats[f / 3], window, 1);
            hold(formats[f % 3], formats[f / 3], window, 5);
        }
}

Test(pool, the_gradient_spreads_evenly)
{
    for (int f = 0; f < 9; f++) {
        double dy[] = {4, -9, 1, 0.5, 7, 3, -2, 18};
        struct hc_call call = {.op = HC_OP_avg_pool_bwd,
                               .in = {vector_of(formats[f % 3], 8, dy)},
                               .out = {made(hc_tensor4(formats[f / 3], 1, 6, 6, 2, NULL))},
                               .params.pool.window = 3};
        call.in[HC_POOL_BWD_DY] =
            hc_tensor4(formats[f % 3], 1, 2, 2, 2, call.in[HC_POOL_BWD_DY].data);
        call_exact(&call);
        for (int64_t i = 0; i < 72; i++) {
            double from = dy[i / 36 * 4 + i / 2 % 6 / 3 * 2 + i % 2];
            cr_assert_eq(hc_tensor_get(&call.out[HC_POOL_BWD_DX], i),
                         hc_round(formats[f / 3], (double)(float)(from / 9)));
        }
    }
}

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
