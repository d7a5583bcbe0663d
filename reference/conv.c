/* Convolutions. y[n, p, q, k] is the sum over r, s and c of

     x[n, p stride + r - pad, q stride + s - pad, c] w[k, r, s, c]

   over the pixels inside the image. A gradient is the sum of the same products, each with dy in
   place of the other factor, over all outputs in which the pixel or the weight takes part. */
#include <stdbool.h>

#include "reference/split.h"

static int64_t at(const struct hc_tensor *t, int64_t i, int64_t j, int64_t k, int64_t l)
{
    return ((i * t->shape[1] + j) * t->shape[2] + k) * t->shape[3] + l;
}

static void coordinates(const struct hc_tensor *t, int64_t index, int64_t to[4])
{
    for (int d = 3; d >= 0; d--) {
        to[d] = index % t->shape[d];
        index /= t->shape[d];
    }
}

static bool inside(int64_t i, int64_t extent)
{
    return i >= 0 && i < extent;
}

hc_reference hc_reference_conv2d;
void hc_reference_conv2d(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    int64_t stride = call->params.conv.stride;
    int64_t y[4];
    coordinates(&call->out[e->out], e->index, y);
    struct hc_terms sum;
    hc_terms_begin(&sum, precision);
    sum.tf32 = hc_call_tf32(call);
    for (int64_t r = 0; r < w->shape[1]; r++)
        for (int64_t s = 0; s < w->shape[2]; s++) {
            int64_t i = y[1] * stride + r - call->params.conv.pad;
            int64_t j = y[2] * stride + s - call->params.conv.pad;
            if (!inside(i, x->shape[1]) || !inside(j, x->shape[2]))
                continue;
            for (int64_t c = 0; c < x->shape[3]; c++)
                hc_terms_product(&sum, x, at(x, y[0], i, j, c), w, at(w, y[3], r, s, c));
        }
    hc_terms_end(&sum, want);
}

hc_reference hc_reference_conv2d_bwd_data;
void hc_reference_conv2d_bwd_data(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_DATA_DY];
    const struct hc_tensor *w = &call->in[HC_CONV_BWD_DATA_W];
    int64_t stride = call->params.conv.stride;
    int64_t x[4];
    coordinates(&call->out[e->out], e->index, x);
    struct hc_terms sum;
    hc_terms_begin(&sum, precision);
    sum.tf32 = hc_call_tf32(call);
    for (int64_t r = 0; r < w->shape[1]; r++)
        for (int64_t s = 0; s < w->shape[2]; s++) {
            int64_t i = x[1] + call->params.conv.pad - r;
            int64_t j = x[2] + call->params.conv.pad - s;
            if (i % stride != 0 || j % stride != 0 || !inside(i / stride, dy->shape[1]) ||
                !inside(j / stride, dy->shape[2]))
                continue;
            for (int64_t k = 0; k < w->shape[0]; k++)
                hc_terms_product(&sum, dy, at(dy, x[0], i / stride, j / stride, k), w,
                                 at(w, k, r, s, x[3]));
        }
    hc_terms_end(&sum, want);
}

hc_reference hc_reference_conv2d_bwd_filter;
void hc_reference_conv2d_bwd_filter(const struct hc_element *e, long precision,
                                    struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *x = &call->in[HC_CONV_BWD_FILTER_X];
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_FILTER_DY];
    int64_t stride = call->params.conv.stride;
    int64_t w[4];
    coordinates(&call->out[e->out], e->index, w);
    struct hc_terms sum;
    hc_terms_begin(&sum, precision);
    sum.tf32 = hc_call_tf32(call);
    for (int64_t n = 0; n < dy->shape[0]; n++)
        for (int64_t p = 0; p < dy->shape[1]; p++)
            for (int64_t q = 0; q < dy->shape[2]; q++) {
                int64_t i = p * stride + w[1] - call->params.conv.pad;
                int64_t j = q * stride + w[2] - call->params.conv.pad;
                if (inside(i, x->shape[1]) && inside(j, x->shape[2]))
                    hc_terms_product(&sum, x, at(x, n, i, j, w[3]), dy, at(dy, n, p, q, w[0]));
            }
    hc_terms_end(&sum, want);
}
