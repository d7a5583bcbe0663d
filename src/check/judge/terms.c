/* The terms of an element that is a plain sum, one by one, so that people see them. */
#include <math.h>

#include "check/judge/judge.h"

static double at2(const struct hc_tensor *t, int64_t row, int64_t column)
{
    return hc_tensor_get(t, row * t->shape[1] + column);
}

/* Element [n, h, w, c]; false if that is no pixel. */
static bool at4(const struct hc_tensor *t, const int64_t at[4], double *value)
{
    int64_t index = 0;
    for (int d = 0; d < 4; d++) {
        if (at[d] < 0 || at[d] >= t->shape[d])
            return false;
        index = index * t->shape[d] + at[d];
    }
    *value = hc_tensor_get(t, index);
    return true;
}

static void coordinates(const struct hc_tensor *t, int64_t index, int64_t at[4])
{
    for (int d = 3; d >= 0; d--) {
        at[d] = index % t->shape[d];
        index /= t->shape[d];
    }
}

/* y[n, p, q, k] = sum over r, s, c of x[n, p stride - pad + r, q stride - pad + s, c]
   w[k, r, s, c]. */
static bool forward(const struct hc_call *call, const int64_t y[4], int64_t term, struct hc_term *t)
{
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    const struct hc_conv *p = &call->params.conv;
    int64_t c = term % w->shape[3];
    int64_t s = term / w->shape[3] % w->shape[2];
    int64_t r = term / w->shape[3] / w->shape[2];
    int64_t pixel[4] = {y[0], y[1] * p->stride - p->pad + r, y[2] * p->stride - p->pad + s, c};
    return at4(&call->in[HC_CONV_X], pixel, &t->a) && at4(w, (int64_t[]){y[3], r, s, c}, &t->b);
}

/* dx[n, h, w, c] = sum over k, r, s of dy[n, (h + pad - r) / stride, (w + pad - s) / stride, k]
   w[k, r, s, c], where stride divides. */
static bool backward_data(const struct hc_call *call, const int64_t dx[4], int64_t term,
                          struct hc_term *t)
{
    const struct hc_tensor *w = &call->in[HC_CONV_BWD_DATA_W];
    const struct hc_conv *p = &call->params.conv;
    int64_t s = term % w->shape[2];
    int64_t r = term / w->shape[2] % w->shape[1];
    int64_t k = term / w->shape[2] / w->shape[1];
    int64_t row = dx[1] + p->pad - r;
    int64_t column = dx[2] + p->pad - s;
    if (row < 0 || column < 0 || row % p->stride != 0 || column % p->stride != 0)
        return false;
    int64_t pixel[4] = {dx[0], row / p->stride, column / p->stride, k};
    return at4(&call->in[HC_CONV_BWD_DATA_DY], pixel, &t->a) &&
           at4(w, (int64_t[]){k, r, s, dx[3]}, &t->b);
}

/* dw[k, r, s, c] = sum over n, p, q of x[n, p stride - pad + r, q stride - pad + s, c]
   dy[n, p, q, k]. */
static bool backward_filter(const struct hc_call *call, const int64_t dw[4], int64_t term,
                            struct hc_term *t)
{
    const struct hc_tensor *dy = &call->in[HC_CONV_BWD_FILTER_DY];
    const struct hc_conv *p = &call->params.conv;
    int64_t column = term % dy->shape[2];
    int64_t row = term / dy->shape[2] % dy->shape[1];
    int64_t n = term / dy->shape[2] / dy->shape[1];
    int64_t pixel[4] = {n, row * p->stride - p->pad + dw[1], column * p->stride - p->pad + dw[2],
                        dw[3]};
    return at4(&call->in[HC_CONV_BWD_FILTER_X], pixel, &t->a) &&
           at4(dy, (int64_t[]){n, row, column, dw[0]}, &t->b);
}

static bool pooled(const struct hc_call *call, const int64_t y[4], int64_t term, struct hc_term *t)
{
    int64_t window = call->params.pool.window;
    int64_t pixel[4] = {y[0], y[1] * window + term / window, y[2] * window + term % window, y[3]};
    t->b = 1 / (double)(window * window);
    return at4(&call->in[HC_POOL_X], pixel, &t->a);
}

static bool product(const struct hc_call *call, int64_t index, int64_t k, struct hc_term *t)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    int64_t row = index / call->out[HC_GEMM_OUT].shape[1];
    int64_t column = index % call->out[HC_GEMM_OUT].shape[1];
    t->a = p->transpose_a ? at2(a, k, row) : at2(a, row, k);
    t->b = p->transpose_b ? at2(b, column, k) : at2(b, k, column);
    return true;
}

static bool reduced(const struct hc_call *call, int64_t k, struct hc_term *t)
{
    const struct hc_tensor *x = &call->in[HC_REDUCE_X];
    const struct hc_tensor *other = call->op == HC_OP_dot ? &call->in[HC_DOT_Y] : x;
    t->a = hc_tensor_get(x, k);
    t->b = call->op == HC_OP_sum ? 1 : hc_tensor_get(other, k);
    return true;
}

typedef bool term_function(const struct hc_call *call, const int64_t at[4], int64_t k,
                           struct hc_term *t);

/* By op, of tensors of rank 4. */
static term_function *const of_images[HC_OP_ROOM] = {[HC_OP_conv2d] = forward,
                                                     [HC_OP_conv2d_bwd_data] = backward_data,
                                                     [HC_OP_conv2d_bwd_filter] = backward_filter,
                                                     [HC_OP_avg_pool] = pooled};

static bool term_of(const struct hc_element *e, int64_t k, struct hc_term *term)
{
    const struct hc_call *call = e->call;
    int64_t at[4];
    if (call->op == HC_OP_gemm)
        return product(call, e->index, k, term);
    if (hc_ops[call->op].class_ == HC_CLASS_REDUCTION)
        return reduced(call, k, term);
    coordinates(&call->out[e->out], e->index, at);
    term_function *of_image = of_images[call->op];
    return of_image && of_image(call, at, k, term);
}

static bool is_sum(enum hc_op op)
{
    return op == HC_OP_gemm || hc_ops[op].class_ == HC_CLASS_REDUCTION || of_images[op];
}

int64_t hc_judge_terms(const struct hc_element *element, double *terms, int64_t n)
{
    const struct hc_call *call = element->call;
    int64_t count = 0;
    for (int64_t k = 0; is_sum(call->op) && k < (int64_t)hc_call_length(call); k++) {
        struct hc_term term;
        if (!term_of(element, k, &term))
            continue;
        if (count < n)
            terms[count] = term.a * term.b;
        count++;
    }
    return count;
}

bool hc_judge_sum(const struct hc_element *element, struct hc_judged_sum *sum)
{
    const struct hc_call *call = element->call;
    *sum = (struct hc_judged_sum){0};
    if (!is_sum(call->op))
        return false;
    for (int64_t k = 0; k < (int64_t)hc_call_length(call); k++) {
        struct hc_term term;
        if (!term_of(element, k, &term))
            continue;
        if (sum->terms++ == 0 || fabs(term.a * term.b) > fabs(sum->largest.a * sum->largest.b))
            sum->largest = term;
    }
    return sum->terms > 0;
}
