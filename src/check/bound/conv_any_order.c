/* Convolutions in any order. The contract says that a product with padding is no term of the sum,
   and so do libraries that test each pixel. A kernel that writes the image's patches into a matrix
   (im2col), or pads the image before, has a zero there, and multiplies it. So does one that spreads
   gradients by a stride, at the pixels between them. A product of a finite factor with 0 adds
   nothing; of an infinite one, or a NaN, it is NaN. There nothing is promised. */
#include <math.h>

#include "check/bound/rules.h"

/* Where an element stands in its tensor. */
struct place {
    int64_t i[4];
};

static struct place place_of(const struct hc_tensor *t, int64_t index)
{
    struct place to;
    for (int d = 3; d >= 0; d--) {
        to.i[d] = index % t->shape[d];
        index /= t->shape[d];
    }
    return to;
}

static bool is_finite(const struct hc_tensor *t, int64_t i, int64_t j, int64_t k, int64_t l)
{
    int64_t at = ((i * t->shape[1] + j) * t->shape[2] + k) * t->shape[3] + l;
    return isfinite(hc_tensor_get(t, at));
}

static bool inside(int64_t i, int64_t extent)
{
    return i >= 0 && i < extent;
}

/* Whether output pixel p sees a pixel of the image at distance r from its window's begin. */
static bool sees(const struct hc_conv *conv, int64_t p, int64_t r, int64_t extent)
{
    return inside(p * conv->stride + r - conv->pad, extent);
}

static bool forward_meets(const struct hc_call *call, struct place y)
{
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    const struct hc_conv *conv = &call->params.conv;
    for (int64_t r = 0; r < w->shape[1]; r++)
        for (int64_t s = 0; s < w->shape[2]; s++) {
            bool pixel = sees(conv, y.i[1], r, x->shape[1]) && sees(conv, y.i[2], s, x->shape[2]);
            for (int64_t c = 0; !pixel && c < w->shape[3]; c++)
                if (!is_finite(w, y.i[3], r, s, c))
                    return true;
        }
    return false;
}

/* Whether a gradient stands where weight r of the filter meets pixel i of the image. */
static bool has_gradient(const struct hc_conv *conv, int64_t i, int64_t r, int64_t extent)
{
    int64_t p = i + conv->pad - r;
    return p % conv->stride == 0 && inside(p / conv->stride, extent);
}

static bool data_meets(const struct hc_call *call, struct place x)
{
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_DATA_DY];
    const struct hc_tensor *w = &call->in[HC_CONV_BWD_DATA_W];
    const struct hc_conv *conv = &call->params.conv;
    for (int64_t r = 0; r < w->shape[1]; r++)
        for (int64_t s = 0; s < w->shape[2]; s++) {
            bool gradient = has_gradient(conv, x.i[1], r, dy->shape[1]) &&
                            has_gradient(conv, x.i[2], s, dy->shape[2]);
            for (int64_t k = 0; !gradient && k < w->shape[0]; k++)
                if (!is_finite(w, k, r, s, x.i[3]))
                    return true;
        }
    return false;
}

static bool filter_meets(const struct hc_call *call, struct place w)
{
    const struct hc_tensor *x = &call->in[HC_CONV_BWD_FILTER_X];
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_FILTER_DY];
    const struct hc_conv *conv = &call->params.conv;
    for (int64_t p = 0; p < dy->shape[1]; p++)
        for (int64_t q = 0; q < dy->shape[2]; q++) {
            bool pixel = sees(conv, p, w.i[1], x->shape[1]) && sees(conv, q, w.i[2], x->shape[2]);
            for (int64_t n = 0; !pixel && n < dy->shape[0]; n++)
                if (!is_finite(dy, n, p, q, w.i[0]))
                    return true;
        }
    return false;
}

double hc_bound_any_conv(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    struct place at = place_of(&call->out[e->out], e->index);
    bool meets = call->op == HC_OP_conv2d            ? forward_meets(call, at)
                 : call->op == HC_OP_conv2d_bwd_data ? data_meets(call, at)
                                                     : filter_meets(call, at);
    return meets ? (double)INFINITY : hc_bound_conv(e, accumulator, want);
}
