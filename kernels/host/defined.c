/* Ops of definitions/ along rows, with vectors: sums are kept in lanes (loops.h), rows are shared
   among threads. What stands for each element alone, and exponentials, are exact's. */
#include "op/defined.h"

#include <math.h>

#include "kernels/host/host.h"

static float sum_of(const float lane[HC_LANES])
{
    float part[HC_LANES];
    for (int i = 0; i < HC_LANES; i++)
        part[i] = lane[i];
    for (int half = HC_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            part[i] += part[i + half];
    return part[0];
}

/* So many elements of a row, from its element d on. */
static int64_t block_at(int64_t n, int64_t d)
{
    return n - d < HC_HOST_BLOCK ? n - d : HC_HOST_BLOCK;
}

/* Of n elements from `at` on: the sum of x y, or of x y z. */
static float dot(const struct hc_queue *queue, const struct hc_tensor *x, const struct hc_tensor *y,
                 const struct hc_tensor *z, int64_t at, int64_t n)
{
    float buffer[3][HC_HOST_BLOCK];
    float product[HC_HOST_BLOCK];
    float lane[HC_LANES] = {0};
    for (int64_t d = 0; d < n; d += HC_HOST_BLOCK) {
        int64_t count = block_at(n, d);
        const float *a = hc_host_view(queue, x, at + d, count, buffer[0]);
        const float *b = hc_host_view(queue, y, at + d, count, buffer[1]);
        if (z) {
            const float *w = hc_host_view(queue, z, d, count, buffer[2]);
#pragma omp simd
            for (int64_t i = 0; i < count; i++)
                product[i] = a[i] * w[i];
            a = product;
        }
        queue->loops->dot(a, b, count, lane);
    }
    return sum_of(lane);
}

/* rstd goes where rms_norm_kept wants it. */
enum hc_status hc_host_rms_norm(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_RMS_X];
    int64_t n = x->shape[1];
    float eps = (float)hc_defined_real(call, 0);
#pragma omp parallel for num_threads(hc_host_team(queue, hc_tensor_count(x)))
    for (int64_t t = 0; t < x->shape[0]; t++) {
        float buffer[3][HC_HOST_BLOCK];
        float r = 1 / sqrtf(dot(queue, x, x, NULL, t * n, n) / (float)n + eps);
        if (call->op == HC_OP_rms_norm_kept)
            hc_host_set(&call->out[HC_RMS_RSTD], t, r);
        for (int64_t d = 0; d < n; d += HC_HOST_BLOCK) {
            int64_t count = block_at(n, d);
            const float *from = hc_host_view(queue, x, t * n + d, count, buffer[0]);
            const float *w = hc_host_view(queue, &call->in[HC_RMS_W], d, count, buffer[1]);
            float *y = hc_host_target(&call->out[HC_RMS_Y], t * n + d, buffer[2]);
#pragma omp simd
            for (int64_t i = 0; i < count; i++)
                y[i] = from[i] * r * w[i];
            hc_host_flush(queue, &call->out[HC_RMS_Y], t * n + d, count, y);
        }
    }
    return HC_OK;
}

/* dw of so many columns from d on: all rows are added up in order. */
static void rms_weight(const struct hc_queue *queue, const struct hc_call *call, int64_t d,
                       int64_t count)
{
    const struct hc_tensor *x = &call->in[HC_RMS_BWD_X];
    float buffer[3][HC_HOST_BLOCK];
    float sum[HC_HOST_BLOCK] = {0};
    for (int64_t t = 0; t < x->shape[0]; t++) {
        int64_t at = t * x->shape[1] + d;
        float r = hc_host_get(&call->in[HC_RMS_BWD_RSTD], t);
        const float *dy = hc_host_view(queue, &call->in[HC_RMS_BWD_DY], at, count, buffer[0]);
        const float *from = hc_host_view(queue, x, at, count, buffer[1]);
#pragma omp simd
        for (int64_t i = 0; i < count; i++)
            sum[i] += dy[i] * from[i] * r;
    }
    float *dw = hc_host_target(&call->out[HC_RMS_BWD_DW], d, buffer[2]);
    for (int64_t i = 0; i < count; i++)
        dw[i] = sum[i];
    hc_host_flush(queue, &call->out[HC_RMS_BWD_DW], d, count, dw);
}

enum hc_status hc_host_rms_norm_backward(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_RMS_BWD_X];
    const struct hc_tensor *dy = &call->in[HC_RMS_BWD_DY];
    const struct hc_tensor *w = &call->in[HC_RMS_BWD_W];
    int64_t n = x->shape[1];
#pragma omp parallel for num_threads(hc_host_team(queue, hc_tensor_count(x)))
    for (int64_t t = 0; t < x->shape[0]; t++) {
        float buffer[4][HC_HOST_BLOCK];
        float r = hc_host_get(&call->in[HC_RMS_BWD_RSTD], t);
        float c = dot(queue, dy, x, w, t * n, n) / (float)n * r * r;
        for (int64_t d = 0; d < n; d += HC_HOST_BLOCK) {
            int64_t count = block_at(n, d);
            const float *flow = hc_host_view(queue, dy, t * n + d, count, buffer[0]);
            const float *from = hc_host_view(queue, x, t * n + d, count, buffer[1]);
            const float *gain = hc_host_view(queue, w, d, count, buffer[2]);
            float *dx = hc_host_target(&call->out[HC_RMS_BWD_DX], t * n + d, buffer[3]);
#pragma omp simd
            for (int64_t i = 0; i < count; i++)
                dx[i] = r * (flow[i] * gain[i] - from[i] * c);
            hc_host_flush(queue, &call->out[HC_RMS_BWD_DX], t * n + d, count, dx);
        }
    }
#pragma omp parallel for num_threads(hc_host_team(queue, hc_tensor_count(x)))
    for (int64_t d = 0; d < n; d += HC_HOST_BLOCK)
        rms_weight(queue, call, d, block_at(n, d));
    return HC_OK;
}

enum hc_status hc_host_softmax_backward(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *dy = &call->in[HC_SOFTMAX_BWD_DY];
    const struct hc_tensor *y = &call->in[HC_SOFTMAX_BWD_Y];
    int64_t n = y->shape[1];
#pragma omp parallel for num_threads(hc_host_team(queue, hc_tensor_count(y)))
    for (int64_t t = 0; t < y->shape[0]; t++) {
        float buffer[3][HC_HOST_BLOCK];
        float sum = dot(queue, y, dy, NULL, t * n, n);
        for (int64_t d = 0; d < n; d += HC_HOST_BLOCK) {
            int64_t count = block_at(n, d);
            const float *flow = hc_host_view(queue, dy, t * n + d, count, buffer[0]);
            const float *p = hc_host_view(queue, y, t * n + d, count, buffer[1]);
            float *dx = hc_host_target(&call->out[HC_SOFTMAX_BWD_DX], t * n + d, buffer[2]);
#pragma omp simd
            for (int64_t i = 0; i < count; i++)
                dx[i] = p[i] * (flow[i] - sum);
            hc_host_flush(queue, &call->out[HC_SOFTMAX_BWD_DX], t * n + d, count, dx);
        }
    }
    return HC_OK;
}
