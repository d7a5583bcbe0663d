/* Means over disjoint windows, and their gradient. Tensors are NHWC. */
#include "kernels/cuda/kernel/elements.h"

/* `row` counts the rows of all images, of y forward and of x backward. */
HC_ON_DEVICE void hc_dk_avg_pool_body(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_POOL_X];
    const struct hc_tensor *y = &call->out[HC_POOL_Y];
    int64_t window = call->params.pool.window;
    int64_t wide = x->shape[2];
    int64_t channels = x->shape[3];
    int64_t across = wide / window;
    int64_t n = hc_dk_count(y);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        int64_t c = i % channels;
        int64_t q = i / channels % across;
        int64_t row = i / channels / across;
        float sum = 0;
        for (int64_t r = 0; r < window; r++)
            for (int64_t s = 0; s < window; s++) {
                int64_t pixel = (row * window + r) * wide + q * window + s;
                sum += hc_dk_load(x, pixel * channels + c);
            }
        hc_dk_store(y, i, sum / (float)(window * window));
    }
}
HC_LAUNCHABLE(avg_pool, struct hc_call)

HC_ON_DEVICE void hc_dk_avg_pool_bwd_body(const struct hc_call *call)
{
    const struct hc_tensor *dy = &call->in[HC_POOL_BWD_DY];
    const struct hc_tensor *dx = &call->out[HC_POOL_BWD_DX];
    int64_t window = call->params.pool.window;
    int64_t wide = dx->shape[2];
    int64_t channels = dx->shape[3];
    int64_t across = wide / window;
    int64_t n = hc_dk_count(dx);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        int64_t c = i % channels;
        int64_t w = i / channels % wide;
        int64_t row = i / channels / wide;
        int64_t pixel = row / window * across + w / window;
        hc_dk_store(dx, i, hc_dk_load(dy, pixel * channels + c) / (float)(window * window));
    }
}
HC_LAUNCHABLE(avg_pool_bwd, struct hc_call)
