#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/element/load.h"

enum hc_status hc_exact_avg_pool(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_pool(call);
    const struct hc_tensor *x = &call->in[0];
    const struct hc_tensor *y = &call->out[0];
    int64_t window = call->params.pool.window;
    int64_t wide = x->shape[2];
    int64_t channels = x->shape[3];
    int64_t n = hc_tensor_count(y);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i % channels;
        int64_t q = i / channels % y->shape[2];
        int64_t row = i / channels / y->shape[2]; /* over images and their output rows */
        float sum = 0;
        for (int64_t r = 0; r < window; r++)
            for (int64_t s = 0; s < window; s++) {
                int64_t pixel = (row * window + r) * wide + q * window + s;
                sum += hc_load(x->format, x->data, pixel * channels + c);
            }
        hc_store(y->format, y->data, i, sum / (float)(window * window));
    }
    return HC_OK;
}

enum hc_status hc_exact_avg_pool_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_pool_bwd(call);
    const struct hc_tensor *dy = &call->in[0];
    const struct hc_tensor *dx = &call->out[0];
    int64_t window = call->params.pool.window;
    int64_t wide = dx->shape[2];
    int64_t channels = dx->shape[3];
    int64_t n = hc_tensor_count(dx);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i % channels;
        int64_t w = i / channels % wide;
        int64_t row = i / channels / wide; /* over images and their rows */
        int64_t pixel = row / window * dy->shape[2] + w / window;
        float value = hc_load(dy->format, dy->data, pixel * channels + c);
        hc_store(dx->format, dx->data, i, value / (float)(window * window));
    }
    return HC_OK;
}
