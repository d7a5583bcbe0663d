/* Products of matrices, convolutions and pools of integers, from their definitions. */
#include "check/generate/integers.h"

#include <stddef.h>

/* Draws a slot's integers, of at most `most`, and writes them times `unit`. */
static void fill(const struct hc_integers *z, int slot, int32_t most, double unit)
{
    int64_t n = z->call.in[slot].data ? hc_tensor_count(&z->call.in[slot]) : 0;
    for (int64_t i = 0; i < n; i++)
        z->value[slot][i] = hc_integers_draw(z, slot, i, most);
    if (n)
        hc_integers_set(z, slot, unit);
}

bool hc_integers_gemm(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_gemm *p = &call->params.gemm;
    int64_t m = call->out[HC_GEMM_OUT].shape[0];
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    int64_t terms = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1];
    int32_t most = hc_integers_factor(z, terms);
    if (most == 0)
        return false;
    fill(z, HC_GEMM_A, most, 1);
    fill(z, HC_GEMM_B, most, 1);
    fill(z, HC_GEMM_C, 8, 1);
    for (int64_t at = 0; at < m * n; at++) {
        int64_t i = at / n;
        int64_t j = at % n;
        int64_t sum = 0;
        for (int64_t k = 0; k < terms; k++)
            sum += z->value[HC_GEMM_A][p->transpose_a ? k * m + i : i * terms + k] *
                   z->value[HC_GEMM_B][p->transpose_b ? j * terms + k : k * n + j];
        sum *= (int64_t)p->alpha;
        if (p->beta != 0)
            sum += (int64_t)p->beta * z->value[HC_GEMM_C][call->in[HC_GEMM_C].rank == 1 ? j : at];
        z->want[HC_GEMM_OUT][at] = (double)sum;
    }
    return true;
}

/* A pixel of the image and one of the output that a tap of the filter joins: x and y are their
   first elements, w is the first of the tap's in the first filter. */
struct joint {
    int64_t x;
    int64_t y;
    int64_t w;
};

/* x [N, H, W, C], w [K, R, S, C] and y [N, P, Q, K], two of which are inputs. */
struct trio {
    const struct hc_tensor *x;
    const struct hc_tensor *w;
    const struct hc_tensor *y;
};

static struct trio trio_of(const struct hc_call *call)
{
    if (call->op == HC_OP_conv2d_bwd_data)
        return (struct trio){&call->out[HC_CONV_BWD_DATA_DX], &call->in[HC_CONV_BWD_DATA_W],
                             &call->in[HC_CONV_BWD_DATA_DY]};
    if (call->op == HC_OP_conv2d_bwd_filter)
        return (struct trio){&call->in[HC_CONV_BWD_FILTER_X], &call->out[HC_CONV_BWD_FILTER_DW],
                             &call->in[HC_CONV_BWD_FILTER_DY]};
    return (struct trio){&call->in[HC_CONV_X], &call->in[HC_CONV_W], &call->out[HC_CONV_Y]};
}

static void add_products(struct hc_integers *z, const struct trio *t, const struct joint *j)
{
    int64_t channels = t->x->shape[3];
    int64_t filters = t->y->shape[3];
    int64_t filter = t->w->shape[1] * t->w->shape[2] * channels;
    bool data = z->call.op == HC_OP_conv2d_bwd_data;
    bool weights = z->call.op == HC_OP_conv2d_bwd_filter;
    const int32_t *first = z->value[HC_CONV_FIRST];
    const int32_t *second = z->value[HC_CONV_SECOND];
    const int32_t *x = data ? NULL : first + j->x;
    const int32_t *y = data ? first + j->y : weights ? second + j->y : NULL;
    const int32_t *w = weights ? NULL : second + j->w;
    double *want = z->want[HC_CONV_RESULT];
    for (int64_t k = 0; k < filters; k++) {
        int64_t sum = 0;
        for (int64_t c = 0; c < channels && data; c++)
            want[j->x + c] += y[k] * w[k * filter + c];
        for (int64_t c = 0; c < channels && weights; c++)
            want[j->w + k * filter + c] += x[c] * y[k];
        for (int64_t c = 0; c < channels && !data && !weights; c++)
            sum += x[c] * w[k * filter + c];
        if (!data && !weights)
            want[j->y + k] += (double)sum;
    }
}

/* Sums of fewer than 2^53 in fp64, which are exact. */
static void convolve(struct hc_integers *z, const struct trio *t)
{
    const struct hc_conv *p = &z->call.params.conv;
    const int64_t *x = t->x->shape;
    const int64_t *w = t->w->shape;
    const int64_t *y = t->y->shape;
    for (int64_t i = 0; i < hc_tensor_count(&z->call.out[HC_CONV_RESULT]); i++)
        z->want[HC_CONV_RESULT][i] = 0;
    for (int64_t pixel = 0; pixel < y[0] * y[1] * y[2]; pixel++)
        for (int64_t tap = 0; tap < w[1] * w[2]; tap++) {
            int64_t image = pixel / (y[1] * y[2]);
            int64_t row = pixel / y[2] % y[1] * p->stride - p->pad + tap / w[2];
            int64_t column = pixel % y[2] * p->stride - p->pad + tap % w[2];
            struct joint j = {((image * x[1] + row) * x[2] + column) * x[3], pixel * y[3],
                              tap * x[3]};
            if (row >= 0 && row < x[1] && column >= 0 && column < x[2])
                add_products(z, t, &j);
        }
}

bool hc_integers_conv(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    struct trio t = trio_of(call);
    int64_t taps = t.w->shape[1] * t.w->shape[2];
    int64_t pixels = t.y->shape[0] * t.y->shape[1] * t.y->shape[2];
    int64_t terms = call->op == HC_OP_conv2d            ? taps * t.x->shape[3]
                    : call->op == HC_OP_conv2d_bwd_data ? taps * t.y->shape[3]
                                                        : pixels;
    int32_t most = hc_integers_factor(z, terms);
    if (most == 0)
        return false;
    fill(z, HC_CONV_FIRST, most, 1);
    fill(z, HC_CONV_SECOND, most, 1);
    convolve(z, &t);
    return true;
}

/* Inputs are multiples of the number of elements in a window, so that means are integers. */
bool hc_integers_pool(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    bool back = call->op == HC_OP_avg_pool_bwd;
    int64_t window = call->params.pool.window;
    const int64_t *x = (back ? &call->out[HC_POOL_BWD_DX] : &call->in[HC_POOL_X])->shape;
    const int64_t *y = (back ? &call->in[HC_POOL_BWD_DY] : &call->out[HC_POOL_Y])->shape;
    fill(z, HC_FIRST, 8, (double)(window * window));
    for (int64_t i = 0; !back && i < hc_tensor_count(&call->out[HC_POOL_Y]); i++)
        z->want[HC_FIRST][i] = 0;
    for (int64_t i = 0; i < x[0] * x[1] * x[2] * x[3]; i++) {
        int64_t channel = i % x[3];
        int64_t column = i / x[3] % x[2] / window;
        int64_t row = i / x[3] / x[2] / window;
        int64_t mean = (row * y[2] + column) * y[3] + channel;
        if (back)
            z->want[HC_FIRST][i] = z->value[HC_FIRST][mean];
        else
            z->want[HC_FIRST][mean] += z->value[HC_FIRST][i];
    }
    return true;
}
