/* The extents of a convolution, whichever of the three it is: x [n, h, w, c], w [k, r, s, c],
   y [n, p, q, k]. */
#ifndef HC_KERNELS_CONV_SHAPE_H
#define HC_KERNELS_CONV_SHAPE_H

#include <stdbool.h>

#include "op/call.h"

struct hc_conv_shape {
    enum hc_op op;
    int64_t n, h, w, c;
    int64_t p, q, k;
    int64_t r, s;
    int64_t stride, pad;
};

static inline struct hc_conv_shape hc_conv_shape_of(const struct hc_call *call)
{
    bool filter = call->op == HC_OP_conv2d_bwd_filter;
    bool data = call->op == HC_OP_conv2d_bwd_data;
    const int64_t *x = (data ? &call->out[0] : &call->in[0])->shape;
    const int64_t *w = (filter ? &call->out[0] : &call->in[1])->shape;
    const int64_t *y = (filter ? &call->in[1] : data ? &call->in[0] : &call->out[0])->shape;
    return (struct hc_conv_shape){
        .op = call->op,
        .n = x[0],
        .h = x[1],
        .w = x[2],
        .c = x[3],
        .p = y[1],
        .q = y[2],
        .k = w[0],
        .r = w[1],
        .s = w[2],
        .stride = call->params.conv.stride,
        .pad = call->params.conv.pad,
    };
}

static inline bool hc_conv_same(const struct hc_conv_shape *a, const struct hc_conv_shape *b)
{
    return a->op == b->op && a->n == b->n && a->h == b->h && a->w == b->w && a->c == b->c &&
           a->k == b->k && a->r == b->r && a->s == b->s && a->stride == b->stride &&
           a->pad == b->pad;
}

/* Whether some tensor is: an image has no pixels or no channels, or there are no filters. */
static inline bool hc_conv_empty(const struct hc_conv_shape *g)
{
    return g->n * g->h * g->w * g->c == 0 || g->p * g->q == 0 || g->k * g->r * g->s == 0;
}

/* Whether it is a product of matrices: 1x1, stride 1, no padding. */
static inline bool hc_conv_is_product(const struct hc_conv_shape *g)
{
    return g->r == 1 && g->s == 1 && g->stride == 1 && g->pad == 0;
}

#endif
