/* Attention with all of attention_general's options: a block takes a row of q at a time, whose
   weights lie in scratch. Shared memory: a float for every warp. */
#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/defined.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/round.h"
#include "num/encode.h"

/* As a weight is before a product. */
HC_ON_DEVICE float hc_dk_stored_weight(const struct hc_dk_attention *a, float x)
{
    if (a->is.weights == HC_WEIGHTS_AS_THEY_ARE)
        return x;
    if (a->is.weights == HC_WEIGHTS_E4M3 && a->call.op == HC_OP_attention_general)
        return (float)hc_decode_as(&a->e4m3,
                                   hc_encode_as(&a->e4m3, 256 * (double)x, 0, HC_NEAREST, 0)) /
               256;
    return hc_into(a->call.in[HC_ATTENTION_Q].format, x);
}

/* Rows x and y of two tensors, whose last axis they are. */
HC_ON_DEVICE float hc_dk_row_product(const struct hc_tensor *x, int64_t i,
                                     const struct hc_tensor *y, int64_t j)
{
    float sum = 0;
    int64_t n = x->shape[2];
    for (int64_t d = 0; d < n; d++)
        sum += hc_dk_load(x, i * n + d) * hc_dk_load(y, j * n + d);
    return sum;
}

/* The score of a row and a key, and the tangent that it was capped by. */
HC_ON_DEVICE float hc_dk_score(const struct hc_dk_attention *a, int64_t row, int64_t key,
                               float *tangent)
{
    float s =
        hc_dk_row_product(&a->call.in[HC_ATTENTION_Q], row, &a->call.in[HC_ATTENTION_K], key) *
        (float)a->is.scale;
    *tangent = 0;
    if (!(a->is.cap > 0))
        return s;
    *tangent = tanhf(s / (float)a->is.cap);
    return (float)a->is.cap * *tangent;
}

HC_ON_DEVICE float hc_dk_sink(const struct hc_dk_attention *a, int64_t head)
{
    return a->sink.data ? hc_dk_load(&a->sink, head) : -INFINITY;
}

HC_ON_DEVICE void hc_dk_attention_body(const struct hc_dk_attention *a)
{
    const struct hc_attention *is = &a->is;
    const struct hc_tensor *v = &a->call.in[HC_ATTENTION_V];
    float *shared = (float *)hc_shared();
    float tangent;
    for (int64_t row = hc_block(); row < is->heads * is->rows; row += hc_blocks()) {
        int64_t head = row / is->rows;
        int64_t start = hc_attention_first(is, row % is->rows);
        int64_t past = hc_attention_past(is, row % is->rows);
        int64_t first = head / is->sharing * is->keys;
        float *p = a->weights + row * is->keys;
        float sink = hc_dk_sink(a, head);
        float max = sink;
        float sum = 0;
        for (int64_t u = start + hc_thread(); u < past; u += hc_threads()) {
            p[u] = hc_dk_score(a, row, first + u, &tangent);
            max = fmaxf(max, p[u]);
        }
        max = hc_dk_block_max(max, shared);
        for (int64_t u = start + hc_thread(); u < past; u += hc_threads()) {
            float e = expf(p[u] - max);
            sum += e;
            p[u] = hc_dk_stored_weight(a, e);
        }
        sum = hc_dk_block_sum(sum, shared);
        if (sink > -INFINITY)
            sum += expf(sink - max);
        for (int64_t e = hc_thread(); e < is->width; e += hc_threads()) {
            float y = 0;
            for (int64_t u = start; u < past; u++)
                y += p[u] * hc_dk_load(v, (first + u) * is->width + e);
            hc_dk_store(&a->call.out[HC_ATTENTION_Y], row * is->width + e,
                        past > start ? y / sum : 0);
        }
        if (hc_thread() == 0)
            hc_dk_store(&a->call.out[HC_ATTENTION_LSE], row, max + logf(sum));
    }
}
HC_LAUNCHABLE(attention, struct hc_dk_attention)

/* dq, and for the other gradients the weights of each row, those of its scores, and the sum of dy
   and o. */
HC_ON_DEVICE void hc_dk_attention_bwd_rows_body(const struct hc_dk_attention *a)
{
    const struct hc_attention *is = &a->is;
    int64_t rows = is->heads * is->rows;
    for (int64_t row = hc_block(); row < rows; row += hc_blocks()) {
        int64_t start = hc_attention_first(is, row % is->rows);
        int64_t past = hc_attention_past(is, row % is->rows);
        int64_t first = row / is->rows / is->sharing * is->keys;
        float *w = a->weights + row * is->keys;
        float *ds = w + rows * is->keys;
        float lse = hc_dk_load(&a->lse, row);
        float along = 0;
        for (int64_t e = hc_thread(); e < is->width; e += hc_threads())
            along +=
                hc_dk_load(&a->dy, row * is->width + e) * hc_dk_load(&a->o, row * is->width + e);
        along = hc_dk_block_sum(along, (float *)hc_shared());
        for (int64_t u = start + hc_thread(); u < past; u += hc_threads()) {
            float tangent;
            float p = expf(hc_dk_score(a, row, first + u, &tangent) - lse);
            float g =
                p * (hc_dk_row_product(&a->dy, row, &a->call.in[HC_ATTENTION_BWD_V], first + u) -
                     along);
            w[u] = hc_dk_stored_weight(a, p);
            ds[u] = hc_dk_stored_weight(a, is->cap > 0 ? g * (1 - tangent * tangent) : g);
        }
        if (hc_thread() == 0)
            a->weights[2 * rows * is->keys + row] = along;
        hc_sync();
        for (int64_t d = hc_thread(); d < is->depth; d += hc_threads()) {
            float sum = 0;
            for (int64_t u = start; u < past; u++)
                sum += ds[u] *
                       hc_dk_load(&a->call.in[HC_ATTENTION_BWD_K], (first + u) * is->depth + d);
            hc_dk_store(&a->call.out[HC_ATTENTION_BWD_DQ], row * is->depth + d,
                        (float)is->scale * sum);
        }
    }
}
HC_LAUNCHABLE(attention_bwd_rows, struct hc_dk_attention)

/* A thread for each element of dk (`of` is q, and its rows have `n` elements) or of dv (dy): the
   rows of all heads that share the key, in order. */
HC_ON_DEVICE float hc_dk_over_rows(const struct hc_dk_attention *a, const float *weights,
                                   const struct hc_tensor *of, int64_t n, int64_t i)
{
    const struct hc_attention *is = &a->is;
    int64_t u = i / n % is->keys;
    int64_t head = i / n / is->keys * is->sharing;
    float sum = 0;
    for (int64_t row = head * is->rows; row < (head + is->sharing) * is->rows; row++)
        if (u >= hc_attention_first(is, row % is->rows) &&
            u < hc_attention_past(is, row % is->rows))
            sum += weights[row * is->keys + u] * hc_dk_load(of, row * n + i % n);
    return sum;
}

HC_ON_DEVICE void hc_dk_attention_bwd_keys_body(const struct hc_dk_attention *a)
{
    const struct hc_attention *is = &a->is;
    const struct hc_call *c = &a->call;
    int64_t rows = is->heads * is->rows;
    int64_t keys = is->key_heads * is->keys;
    int64_t heads = a->sink.data ? is->heads : 0;
    const float *ds = a->weights + rows * is->keys;
    const float *along = ds + rows * is->keys;
    for (int64_t i = hc_dk_first(); i < keys * (is->depth + is->width) + heads;
         i += hc_dk_stride()) {
        int64_t of_v = i - keys * is->depth;
        int64_t head = of_v - keys * is->width;
        float sum = 0;
        if (of_v < 0) {
            sum = hc_dk_over_rows(a, ds, &c->in[HC_ATTENTION_Q], is->depth, i);
            hc_dk_store(&c->out[HC_ATTENTION_BWD_DK], i, (float)is->scale * sum);
        } else if (head < 0) {
            sum = hc_dk_over_rows(a, a->weights, &a->dy, is->width, of_v);
            hc_dk_store(&c->out[HC_ATTENTION_BWD_DV], of_v, sum);
        } else {
            float sink = hc_dk_sink(a, head);
            for (int64_t row = head * is->rows; row < (head + 1) * is->rows; row++)
                if (sink > -INFINITY)
                    sum += expf(sink - hc_dk_load(&a->lse, row)) * along[row];
            hc_dk_store(&c->out[HC_ATTENTION_BWD_DSINK], head, 0 - sum);
        }
    }
}
HC_LAUNCHABLE(attention_bwd_keys, struct hc_dk_attention)
