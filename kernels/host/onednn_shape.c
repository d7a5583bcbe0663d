#include "kernels/host/onednn.h"

struct hc_onednn_shape hc_onednn_shape_of(const struct hc_call *call)
{
    bool filter = call->op == HC_OP_conv2d_bwd_filter;
    bool backward = call->op == HC_OP_conv2d_bwd_data;
    const int64_t *x = (backward ? &call->out[0] : &call->in[0])->shape;
    const int64_t *w = (filter ? &call->out[0] : &call->in[1])->shape;
    const int64_t *y = (filter ? &call->in[1] : backward ? &call->in[0] : &call->out[0])->shape;
    return (struct hc_onednn_shape){
        .backward = backward,
        .images = x[0],
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

bool hc_onednn_is_gemm(const struct hc_onednn_shape *g)
{
    return g->r == 1 && g->s == 1 && g->stride == 1 && g->pad == 0;
}

bool hc_onednn_is_empty(const struct hc_onednn_shape *g)
{
    return g->images * g->h * g->w * g->c == 0 || g->p * g->q == 0 || g->k * g->r * g->s == 0;
}
