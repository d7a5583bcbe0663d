/* gemm and convolutions in fp64. Order of the terms: gemm k; forward r, s, c; backward-data r, s, k;
   backward-filter n, p, q. */
#include "kernels/conv_shape.h"
#include "kernels/exact/double.h"

enum hc_status hc_double_gemm(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const double *a = call->in[0].data;
    const double *b = call->in[1].data;
    const double *c = call->in[2].data;
    double *out = call->out[0].data;
    int64_t m = call->out[0].shape[0];
    int64_t n = call->out[0].shape[1];
    int64_t terms = call->in[0].shape[p->transpose_a ? 0 : 1];
    double alpha = (double)(float)p->alpha;
    double beta = (double)(float)p->beta;
    for (int64_t at = 0; at < m * n; at++) {
        int64_t i = at / n;
        int64_t j = at % n;
        double sum = 0;
        for (int64_t k = 0; k < terms; k++)
            sum += a[p->transpose_a ? k * m + i : i * terms + k] *
                   b[p->transpose_b ? j * terms + k : k * n + j];
        sum = terms > 0 ? alpha * sum : 0;
        out[at] = p->beta != 0 ? sum + beta * c[call->in[2].rank == 1 ? j : at] : sum;
    }
    return HC_OK;
}

/* One pixel of x or dx against one of y or dy, and the filters' tap between them. */
struct meeting {
    int64_t x;
    int64_t y;
    int64_t tap;
};

typedef void meet(const struct hc_conv_shape *g, const struct hc_call *call, struct meeting at);

static void forward(const struct hc_conv_shape *g, const struct hc_call *call, struct meeting at)
{
    const double *x = (const double *)call->in[0].data + at.x * g->c;
    const double *w = (const double *)call->in[1].data + at.tap * g->c;
    double *y = (double *)call->out[0].data + at.y * g->k;
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t c = 0; c < g->c; c++)
            y[k] += x[c] * w[k * g->r * g->s * g->c + c];
}

static void backward(const struct hc_conv_shape *g, const struct hc_call *call, struct meeting at)
{
    const double *dy = (const double *)call->in[0].data + at.y * g->k;
    const double *w = (const double *)call->in[1].data + at.tap * g->c;
    double *dx = (double *)call->out[0].data + at.x * g->c;
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t c = 0; c < g->c; c++)
            dx[c] += dy[k] * w[k * g->r * g->s * g->c + c];
}

static void filter(const struct hc_conv_shape *g, const struct hc_call *call, struct meeting at)
{
    const double *x = (const double *)call->in[0].data + at.x * g->c;
    const double *dy = (const double *)call->in[1].data + at.y * g->k;
    double *dw = (double *)call->out[0].data + at.tap * g->c;
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t c = 0; c < g->c; c++)
            dw[k * g->r * g->s * g->c + c] += x[c] * dy[k];
}

/* Taps outermost, so that each sum takes its terms by r and s first, then (n,) p and q. */
enum hc_status hc_double_conv(const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    meet *run = g.op == HC_OP_conv2d ? forward : g.op == HC_OP_conv2d_bwd_data ? backward : filter;
    double *out = call->out[0].data;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++)
        out[i] = 0;
    for (int64_t tap = 0; tap < g.r * g.s; tap++)
        for (int64_t y = 0; y < g.n * g.p * g.q; y++) {
            int64_t n = y / (g.p * g.q);
            int64_t h = y / g.q % g.p * g.stride - g.pad + tap / g.s;
            int64_t w = y % g.q * g.stride - g.pad + tap % g.s;
            if (h >= 0 && h < g.h && w >= 0 && w < g.w)
                run(&g, call, (struct meeting){(n * g.h + h) * g.w + w, y, tap});
        }
    return HC_OK;
}
