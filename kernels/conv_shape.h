/* The extents of a convolution, forward or backward: x [n, h, w, c], w [k, r, s, c],
   y [n, p, q, k]; dx, dw and dy have the same shapes. */
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
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    const struct hc_tensor *y = &call->out[HC_CONV_Y];
    if (call->op == HC_OP_conv2d_bwd_data) {
        x = &call->out[HC_CONV_BWD_DATA_DX];
        y = &call->in[HC_CONV_BWD_DATA_DY];
    } else if (call->op == HC_OP_conv2d_bwd_filter) {
        w = &call->out[HC_CONV_BWD_FILTER_DW];
        y = &call->in[HC_CONV_BWD_FILTER_DY];
    }
    return (struct hc_conv_shape){
        .op = call->op,
        .n = x->shape[0],
        .h = x->shape[1],
        .w = x->shape[2],
        .c = x->shape[3],
        .p = y->shape[1],
        .q = y->shape[2],
        .k = w->shape[0],
        .r = w->shape[1],
        .s = w->shape[2],
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

/* Products of two elements, those with the padding included. */
static inline int64_t hc_conv_products(const struct hc_conv_shape *g)
{
    return g->n * g->p * g->q * g->k * g->r * g->s * g->c;
}

/* Whether a tensor is empty: an image has no pixels or no channels, or there are no filters. */
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
