#include "kernels/exact/testing.h"

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
