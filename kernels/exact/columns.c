/* A convolution's input as a matrix, and the gradient of that. */
#include <string.h>

#include "kernels/element/load.h"
#include "kernels/exact/exact.h"

/* How many places a filter has along an extent. */
static int64_t places(const struct hc_columns *p, int64_t extent)
{
    return (extent + 2 * (int64_t)p->pad - p->kernel) / p->stride + 1;
}

/* An element after the other, as bits: a copy keeps a NaN's. */
enum hc_status hc_exact_im2col(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *x = &call->in[HC_IM2COL_X];
    const struct hc_tensor *columns = &call->out[HC_IM2COL_COLUMNS];
    const unsigned char *from = x->data;
    unsigned char *to = columns->data;
    size_t bytes = (size_t)hc_formats[x->format].bytes;
    int64_t channels = x->shape[3];
    int64_t down = places(p, x->shape[1]);
    int64_t across = places(p, x->shape[2]);
    int64_t n = hc_tensor_count(columns);
    for (int64_t k = 0; k < n; k++, to += bytes) {
        int64_t s = k / channels % p->kernel;
        int64_t r = k / channels / p->kernel % p->kernel;
        int64_t pixel = k / channels / p->kernel / p->kernel;
        int64_t j = pixel % across * p->stride + s - p->pad;
        int64_t i = pixel / across % down * p->stride + r - p->pad;
        int64_t at = pixel / across / down * x->shape[1] + i;
        bool inside = i >= 0 && i < x->shape[1] && j >= 0 && j < x->shape[2];
        if (inside)
            memcpy(to, from + (size_t)((at * x->shape[2] + j) * channels + k % channels) * bytes,
                   bytes);
        else
            memset(to, 0, bytes);
    }
    return HC_OK;
}

/* Where along an extent the filter lies if its place `at` is over element `i`; -1: nowhere. */
static int64_t place_of(const struct hc_columns *p, int64_t i, int64_t at, int64_t most)
{
    int64_t place = i + p->pad - at;
    return place >= 0 && place % p->stride == 0 && place / p->stride < most ? place / p->stride
                                                                            : -1;
}

enum hc_status hc_exact_col2im(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *columns = &call->in[HC_COL2IM_COLUMNS];
    const struct hc_tensor *dx = &call->out[HC_COL2IM_DX];
    int64_t channels = dx->shape[3];
    int64_t width = dx->shape[2];
    int64_t down = places(p, dx->shape[1]);
    int64_t across = places(p, width);
    int64_t n = hc_tensor_count(dx);
    for (int64_t k = 0; k < n; k++) {
        int64_t j = k / channels % width;
        int64_t i = k / channels / width % dx->shape[1];
        int64_t image = k / channels / width / dx->shape[1];
        float sum = 0;
        for (int64_t r = 0; r < p->kernel; r++)
            for (int64_t s = 0; s < p->kernel; s++) {
                int64_t y = place_of(p, i, r, down);
                int64_t z = place_of(p, j, s, across);
                int64_t row = (image * down + y) * across + z;
                int64_t at = (row * p->kernel + r) * p->kernel + s;
                if (y >= 0 && z >= 0)
                    sum += hc_load(columns->format, columns->data, at * channels + k % channels);
            }
        hc_store(dx->format, dx->data, k, sum);
    }
    return HC_OK;
}
