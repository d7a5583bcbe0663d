/* Average pooling, a run of channels at a time; the window's sum in row order. */
#include "kernels/host/host.h"

/* n channels from `channel` on of output pixel `pixel`. */
static void pool_run(const struct hc_queue *queue, const struct hc_call *call, int64_t pixel,
                     int64_t channel, int64_t n)
{
    const struct hc_tensor *x = &call->in[HC_POOL_X];
    const struct hc_tensor *y = &call->out[HC_POOL_Y];
    int64_t window = call->params.pool.window;
    int64_t row = pixel / y->shape[2];
    int64_t q = pixel % y->shape[2];
    float buffer[2][HC_HOST_BLOCK];
    float sum[HC_HOST_BLOCK] = {0};
    for (int64_t r = 0; r < window; r++)
        for (int64_t s = 0; s < window; s++) {
            int64_t from = (row * window + r) * x->shape[2] + q * window + s;
            const float *in = hc_host_view(queue, x, from * x->shape[3] + channel, n, buffer[0]);
            for (int64_t i = 0; i < n; i++)
                sum[i] += in[i];
        }
    float *out = hc_host_target(y, pixel * y->shape[3] + channel, buffer[1]);
    for (int64_t i = 0; i < n; i++)
        out[i] = sum[i] / (float)(window * window);
    hc_host_flush(queue, y, pixel * y->shape[3] + channel, n, out);
}

/* n channels from `channel` on of input pixel `pixel`. */
static void unpool_run(const struct hc_queue *queue, const struct hc_call *call, int64_t pixel,
                       int64_t channel, int64_t n)
{
    const struct hc_tensor *dy = &call->in[HC_POOL_BWD_DY];
    const struct hc_tensor *dx = &call->out[HC_POOL_BWD_DX];
    int64_t window = call->params.pool.window;
    int64_t row = pixel / dx->shape[2];
    int64_t from = row / window * dy->shape[2] + pixel % dx->shape[2] / window;
    float buffer[2][HC_HOST_BLOCK];
    const float *in = hc_host_view(queue, dy, from * dy->shape[3] + channel, n, buffer[0]);
    float *out = hc_host_target(dx, pixel * dx->shape[3] + channel, buffer[1]);
    for (int64_t i = 0; i < n; i++)
        out[i] = in[i] / (float)(window * window);
    hc_host_flush(queue, dx, pixel * dx->shape[3] + channel, n, out);
}

/* Every run of channels of every pixel that is written. */
static enum hc_status each_run(struct hc_queue *queue, const struct hc_call *call,
                               void (*run)(const struct hc_queue *queue, const struct hc_call *call,
                                           int64_t pixel, int64_t channel, int64_t n))
{
    const struct hc_tensor *to = &call->out[HC_FIRST];
    int64_t channels = to->shape[3];
    int64_t pixels = to->shape[0] * to->shape[1] * to->shape[2];
    bool large = pixels * channels > HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (large)
    for (int64_t p = 0; p < pixels; p++)
        for (int64_t c = 0; c < channels; c += HC_HOST_BLOCK)
            run(queue, call, p, c, channels - c < HC_HOST_BLOCK ? channels - c : HC_HOST_BLOCK);
    return HC_OK;
}

enum hc_status hc_host_avg_pool(struct hc_queue *queue, const struct hc_call *call)
{
    return each_run(queue, call, pool_run);
}

enum hc_status hc_host_avg_pool_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    return each_run(queue, call, unpool_run);
}
