/* Windows over images: their means, the matrix that a convolution multiplies, and the gradients of
   both. Tensors are NHWC. */
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

HC_ON_DEVICE int64_t hc_dk_places(const struct hc_columns *p, int64_t extent)
{
    return (extent + 2 * (int64_t)p->pad - p->kernel) / p->stride + 1;
}

HC_ON_DEVICE void hc_dk_im2col_body(const struct hc_call *call)
{
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *x = &call->in[HC_IM2COL_X];
    const struct hc_tensor *columns = &call->out[HC_IM2COL_COLUMNS];
    int64_t high = x->shape[1];
    int64_t wide = x->shape[2];
    int64_t channels = x->shape[3];
    int64_t down = hc_dk_places(p, high);
    int64_t across = hc_dk_places(p, wide);
    int64_t n = hc_dk_count(columns);
    for (int64_t k = hc_dk_first(); k < n; k += hc_dk_stride()) {
        int64_t c = k % channels;
        int64_t s = k / channels % p->kernel;
        int64_t r = k / channels / p->kernel % p->kernel;
        int64_t pixel = k / channels / p->kernel / p->kernel;
        int64_t j = pixel % across * p->stride + s - p->pad;
        int64_t i = pixel / across % down * p->stride + r - p->pad;
        int64_t row = pixel / across / down * high + i;
        bool inside = i >= 0 && i < high && j >= 0 && j < wide;
        hc_dk_store(columns, k, inside ? hc_dk_load(x, (row * wide + j) * channels + c) : 0.0F);
    }
}
HC_LAUNCHABLE(im2col, struct hc_call)

/* Where along an extent the filter lies if its place `at` is over element `i`; -1: nowhere. */
HC_ON_DEVICE int64_t hc_dk_place_of(const struct hc_columns *p, int64_t i, int64_t at, int64_t most)
{
    int64_t place = i + p->pad - at;
    return place >= 0 && place % p->stride == 0 && place / p->stride < most ? place / p->stride
                                                                            : -1;
}

HC_ON_DEVICE void hc_dk_col2im_body(const struct hc_call *call)
{
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *columns = &call->in[HC_COL2IM_COLUMNS];
    const struct hc_tensor *dx = &call->out[HC_COL2IM_DX];
    int64_t high = dx->shape[1];
    int64_t wide = dx->shape[2];
    int64_t channels = dx->shape[3];
    int64_t down = hc_dk_places(p, high);
    int64_t across = hc_dk_places(p, wide);
    int64_t n = hc_dk_count(dx);
    for (int64_t k = hc_dk_first(); k < n; k += hc_dk_stride()) {
        int64_t c = k % channels;
        int64_t j = k / channels % wide;
        int64_t i = k / channels / wide % high;
        int64_t image = k / channels / wide / high;
        float sum = 0;
        for (int64_t r = 0; r < p->kernel; r++)
            for (int64_t s = 0; s < p->kernel; s++) {
                int64_t y = hc_dk_place_of(p, i, r, down);
                int64_t z = hc_dk_place_of(p, j, s, across);
                int64_t row = (image * down + y) * across + z;
                int64_t at = ((row * p->kernel + r) * p->kernel + s) * channels + c;
                if (y >= 0 && z >= 0)
                    sum += hc_dk_load(columns, at);
            }
        hc_dk_store(dx, k, sum);
    }
}
HC_LAUNCHABLE(col2im, struct hc_call)
