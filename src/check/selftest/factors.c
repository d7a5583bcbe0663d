#include "check/selftest/factors.h"

#include "check/bound/bound.h"

static void term(struct hc_factors *t, const struct hc_tensor *x, int64_t i,
                 const struct hc_tensor *y, int64_t j)
{
    t->x[t->n] = (float)hc_tensor_get(x, i);
    t->y[t->n++] = y ? (float)hc_tensor_get(y, j) : 1;
}

static int64_t at(const struct hc_tensor *t, int64_t n, int64_t h, int64_t w, int64_t c)
{
    const int64_t *d = t->shape;
    bool inside = h >= 0 && h < d[1] && w >= 0 && w < d[2];
    return inside ? ((n * d[1] + h) * d[2] + w) * d[3] + c : -1;
}

static void of_gemm(const struct hc_call *call, int64_t out, struct hc_factors *t)
{
    const struct hc_gemm *g = &call->params.gemm;
    int64_t columns = call->out[HC_GEMM_OUT].shape[1];
    int64_t rows = call->out[HC_GEMM_OUT].shape[0];
    int64_t i = out / columns;
    int64_t j = out % columns;
    int64_t n = (int64_t)hc_call_length(call);
    for (int64_t k = 0; k < n; k++)
        term(t, &call->in[HC_GEMM_A], g->transpose_a ? k * rows + i : i * n + k,
             &call->in[HC_GEMM_B], g->transpose_b ? j * n + k : k * columns + j);
}

static void of_conv2d(const struct hc_call *call, int64_t out, struct hc_factors *t)
{
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    const int64_t *d = call->out[HC_CONV_Y].shape;
    const struct hc_conv *c = &call->params.conv;
    int64_t q = out / d[3] % d[2];
    int64_t p = out / d[3] / d[2] % d[1];
    int64_t n = out / d[3] / d[2] / d[1];
    for (int64_t tap = 0; tap < w->shape[1] * w->shape[2]; tap++) {
        int64_t r = tap / w->shape[2];
        int64_t s = tap % w->shape[2];
        int64_t first = at(x, n, p * c->stride - c->pad + r, q * c->stride - c->pad + s, 0);
        for (int64_t i = 0; first >= 0 && i < x->shape[3]; i++)
            term(t, x, first + i, w, at(w, out % d[3], r, s, i));
    }
}

static void of_filter(const struct hc_call *call, int64_t out, struct hc_factors *t)
{
    const struct hc_tensor *x = &call->in[HC_CONV_BWD_FILTER_X];
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_FILTER_DY];
    const int64_t *d = call->out[HC_CONV_BWD_FILTER_DW].shape;
    const struct hc_conv *c = &call->params.conv;
    int64_t s = out / d[3] % d[2];
    int64_t r = out / d[3] / d[2] % d[1];
    int64_t k = out / d[3] / d[2] / d[1];
    int64_t pixels = dy->shape[1] * dy->shape[2];
    for (int64_t i = 0; i < dy->shape[0] * pixels; i++) {
        int64_t p = i % pixels / dy->shape[2];
        int64_t q = i % dy->shape[2];
        int64_t from =
            at(x, i / pixels, p * c->stride - c->pad + r, q * c->stride - c->pad + s, out % d[3]);
        if (from >= 0)
            term(t, x, from, dy, i * dy->shape[3] + k);
    }
}

static void of_data(const struct hc_call *call, int64_t out, struct hc_factors *t)
{
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_DATA_DY];
    const struct hc_tensor *w = &call->in[HC_CONV_BWD_DATA_W];
    const int64_t *d = call->out[HC_CONV_BWD_DATA_DX].shape;
    const struct hc_conv *c = &call->params.conv;
    int64_t n = out / d[3] / d[2] / d[1];
    for (int64_t tap = 0; tap < w->shape[1] * w->shape[2]; tap++) {
        int64_t r = tap / w->shape[2];
        int64_t s = tap % w->shape[2];
        int64_t i = out / d[3] / d[2] % d[1] + c->pad - r;
        int64_t j = out / d[3] % d[2] + c->pad - s;
        if (i < 0 || j < 0 || i % c->stride != 0 || j % c->stride != 0)
            continue;
        int64_t first = at(dy, n, i / c->stride, j / c->stride, 0);
        for (int64_t k = 0; first >= 0 && k < dy->shape[3]; k++)
            term(t, dy, first + k, w, at(w, k, r, s, out % d[3]));
    }
}

static void of_pool(const struct hc_call *call, int64_t out, struct hc_factors *t)
{
    int64_t window = call->params.pool.window;
    const int64_t *d = call->out[HC_POOL_Y].shape;
    for (int64_t i = 0; i < window * window; i++)
        term(t, &call->in[HC_POOL_X],
             at(&call->in[HC_POOL_X], out / d[3] / d[2] / d[1],
                out / d[3] / d[2] % d[1] * window + i / window,
                out / d[3] % d[2] * window + i % window, out % d[3]),
             NULL, 0);
}

void hc_factors_of(const struct hc_call *call, int64_t out, struct hc_factors *t)
{
    t->n = 0;
    switch (call->op) {
    case HC_OP_gemm:
        of_gemm(call, out, t);
        return;
    case HC_OP_conv2d:
        of_conv2d(call, out, t);
        return;
    case HC_OP_conv2d_bwd_data:
        of_data(call, out, t);
        return;
    case HC_OP_conv2d_bwd_filter:
        of_filter(call, out, t);
        return;
    case HC_OP_avg_pool:
        of_pool(call, out, t);
        return;
    default:
        for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_REDUCE_X]); i++)
            term(t, &call->in[HC_REDUCE_X], i,
                 call->op == HC_OP_sum           ? NULL
                 : call->op == HC_OP_sum_squares ? &call->in[HC_REDUCE_X]
                                                 : &call->in[HC_DOT_Y],
                 i);
    }
}
