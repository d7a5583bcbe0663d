/* A convolution's input as a matrix, and the gradient of that: a run of neighbours at a time. */
#include <string.h>

#include "kernels/host/host.h"
#include "num/clones.h"

static int64_t places(const struct hc_columns *p, int64_t extent)
{
    return (extent + 2 * (int64_t)p->pad - p->kernel) / p->stride + 1;
}

/* One row of the filter over one pixel of the output: the pixels below it lie side by side in x,
   too, but for those beyond the image's sides. */
static void copy_row(const struct hc_call *call, int64_t pixel, int64_t r)
{
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *x = &call->in[HC_IM2COL_X];
    int64_t down = places(p, x->shape[1]);
    int64_t across = places(p, x->shape[2]);
    size_t bytes = (size_t)hc_formats[x->format].bytes * (size_t)x->shape[3]; /* of a pixel */
    int64_t left = pixel % across * p->stride - p->pad;
    int64_t i = pixel / across % down * p->stride + r - p->pad;
    int64_t first = left < 0 ? -left : 0;
    int64_t last = x->shape[2] - left < p->kernel ? x->shape[2] - left : p->kernel;
    unsigned char *to = (unsigned char *)call->out[HC_IM2COL_COLUMNS].data +
                        (size_t)((pixel * p->kernel + r) * p->kernel) * bytes;
    if (i < 0 || i >= x->shape[1] || first >= last) {
        memset(to, 0, (size_t)p->kernel * bytes);
        return;
    }
    int64_t at = (pixel / across / down * x->shape[1] + i) * x->shape[2] + left + first;
    memset(to, 0, (size_t)first * bytes);
    memcpy(to + (size_t)first * bytes, (const unsigned char *)x->data + (size_t)at * bytes,
           (size_t)(last - first) * bytes);
    memset(to + (size_t)last * bytes, 0, (size_t)(p->kernel - last) * bytes);
}

enum hc_status hc_host_im2col(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *columns = &call->out[HC_IM2COL_COLUMNS];
    int64_t pixels = columns->shape[0];
    bool large = hc_tensor_count(columns) > HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (large)
    for (int64_t pixel = 0; pixel < pixels; pixel++)
        for (int64_t r = 0; r < call->params.columns.kernel; r++)
            copy_row(call, pixel, r);
    return HC_OK;
}

/* Where along an extent the filter lies if its place `at` is over element `i`; -1: nowhere. */
static int64_t place_of(const struct hc_columns *p, int64_t i, int64_t at, int64_t most)
{
    int64_t place = i + p->pad - at;
    return place >= 0 && place % p->stride == 0 && place / p->stride < most ? place / p->stride
                                                                            : -1;
}

HC_CLONES static void add(const float *in, int64_t n, float *sum)
{
    enum { AT_ONCE = 16 };
    int64_t c = 0;
    for (; c + AT_ONCE <= n; c += AT_ONCE)
#pragma omp simd
        for (int i = 0; i < AT_ONCE; i++)
            sum[c + i] += in[c + i];
    for (; c < n; c++)
        sum[c] += in[c];
}

/* n channels from `channel` on of pixel `pixel` of dx. */
static void add_run(const struct hc_queue *queue, const struct hc_call *call, int64_t pixel,
                    int64_t channel, int64_t n)
{
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *columns = &call->in[HC_COL2IM_COLUMNS];
    const struct hc_tensor *dx = &call->out[HC_COL2IM_DX];
    int64_t down = places(p, dx->shape[1]);
    int64_t across = places(p, dx->shape[2]);
    int64_t j = pixel % dx->shape[2];
    int64_t i = pixel / dx->shape[2] % dx->shape[1];
    int64_t image = pixel / dx->shape[2] / dx->shape[1];
    float buffer[HC_HOST_BLOCK];
    float sum[HC_HOST_BLOCK];
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t r = 0; r < p->kernel; r++)
        for (int64_t s = 0; s < p->kernel; s++) {
            int64_t y = place_of(p, i, r, down);
            int64_t z = place_of(p, j, s, across);
            if (y < 0 || z < 0)
                continue;
            int64_t row = (image * down + y) * across + z;
            int64_t at = ((row * p->kernel + r) * p->kernel + s) * dx->shape[3] + channel;
            const float *in = hc_host_view(queue, columns, at, n, buffer);
            add(in, n, sum);
        }
    hc_host_flush(queue, dx, pixel * dx->shape[3] + channel, n, sum);
}

enum hc_status hc_host_col2im(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *dx = &call->out[HC_COL2IM_DX];
    int64_t channels = dx->shape[3];
    int64_t pixels = dx->shape[0] * dx->shape[1] * dx->shape[2];
    bool large = hc_tensor_count(dx) > HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (large)
    for (int64_t pixel = 0; pixel < pixels; pixel++)
        for (int64_t c = 0; c < channels; c += HC_HOST_BLOCK)
            add_run(queue, call, pixel, c,
                    channels - c < HC_HOST_BLOCK ? channels - c : HC_HOST_BLOCK);
    return HC_OK;
}
