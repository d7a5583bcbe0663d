/* Attention and its gradient: each thread takes whole heads, and of a head BLOCK rows of q at a
   time, whose scores of all keys that they see lie in the second-level cache. So no maximum rises
   and nothing is rescaled. Products are the loops' own (loops.h): the second factor is packed so
   that what stands side by side in the result does in memory, in whole panels, filled up with
   zeros.

   A key that a row does not see takes no part in its sums, not even as 0 times what may be
   infinite: rows of a strip share the keys that the first of them sees, and each adds its own. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/host/host.h"
#include "op/defined.h"

enum { BLOCK = 32, STRIP = 8 };

/* The extents of a call, which both passes name alike. */
struct heads {
    const struct hc_queue *queue;
    const struct hc_call *call;
    int64_t heads, rows, depth, keys, width;
    int64_t keys_padded, depth_padded, width_padded;
    bool causal;
    float scale;
};

static int64_t padded(int64_t n)
{
    return (n + HC_PANEL - 1) / HC_PANEL * HC_PANEL;
}

static struct heads heads_of(const struct hc_queue *queue, const struct hc_call *call)
{
    const int64_t *q = call->in[HC_ATTENTION_Q].shape;
    const int64_t *v = call->in[HC_ATTENTION_V].shape;
    struct heads g = {queue,
                      call,
                      q[0],
                      q[1],
                      q[2],
                      v[1],
                      v[2],
                      0,
                      0,
                      0,
                      hc_defined_flag(call, 1),
                      (float)hc_attention_scale(call)};
    g.keys_padded = padded(g.keys);
    g.depth_padded = padded(g.depth);
    g.width_padded = padded(g.width);
    return g;
}

static int64_t seen(const struct heads *g, int64_t t)
{
    int64_t n = g->causal ? t + 1 + g->keys - g->rows : g->keys;
    return n > 0 ? n : 0;
}

/* The first row that sees key u. */
static int64_t first_row(const struct heads *g, int64_t u)
{
    int64_t t = g->causal ? u + g->rows - g->keys : 0;
    return t > 0 ? t : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows of one head of t [H, n, width] as fp32, each with zeros up to `step` behind it. */
static void load_rows(const struct heads *g, const struct hc_tensor *t, int64_t head, int64_t first,
                      int64_t n, float *to, int64_t step)
{
    int64_t width = t->shape[2];
    g->queue->loops->load_rows(t->format, hc_host_element(t, (head * t->shape[1] + first) * width),
                               width, n, width, to, step);
    for (int64_t i = 0; i < n && step > width; i++)
        memset(to + i * step + width, 0, (size_t)(step - width) * sizeof *to);
}

/* The same of all rows, turned: to[d * step + i]. `row` has room for one. */
static void load_turned(const struct heads *g, const struct hc_tensor *t, int64_t head, float *row,
                        float *to, int64_t step)
{
    int64_t n = t->shape[1];
    int64_t width = t->shape[2];
    for (int64_t i = 0; i < n; i++) {
        const float *from = hc_host_view(g->queue, t, (head * n + i) * width, width, row);
        for (int64_t d = 0; d < width; d++)
            to[d * step + i] = from[d];
    }
    for (int64_t d = 0; d < width && step > n; d++)
        memset(to + d * step + n, 0, (size_t)(step - n) * sizeof *to);
}

/* s [n, keys] = x y transposed, for rows of the head from t on, of keys that some row of a strip
   sees. y is turned. */
static void scores(const struct heads *g, int64_t t, int64_t n, const float *x, int64_t depth,
                   int64_t x_step, const float *turned, float *s)
{
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t rows = least(STRIP, n - i);
        g->queue->loops->product(&(struct hc_host_product){
            rows, padded(seen(g, t + i + rows - 1)), depth, x + i * x_step, x_step, 1, turned,
            g->keys_padded, s + i * g->keys_padded, g->keys_padded, false});
    }
}

/* c [n, columns] = s y for the same rows: each over the keys that it sees. */
static void over_keys(const struct heads *g, int64_t t, int64_t n, const float *s, const float *y,
                      int64_t columns, float *c)
{
    int64_t step = g->keys_padded;
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t rows = least(STRIP, n - i);
        int64_t common = seen(g, t + i);
        g->queue->loops->product(&(struct hc_host_product){rows, columns, common, s + i * step,
                                                           step, 1, y, columns, c + i * columns,
                                                           columns, false});
        for (int64_t k = i; k < i + rows; k++)
            g->queue->loops->product(&(struct hc_host_product){
                1, columns, seen(g, t + k) - common, s + k * step + common, step, 1,
                y + common * columns, columns, c + k * columns, columns, true});
    }
}

/* sum [keys, columns] += s transposed times y, of those rows: each key over those that see it. */
static void over_rows(const struct heads *g, int64_t t, int64_t n, const float *s, const float *y,
                      int64_t columns, float *sum)
{
    int64_t step = g->keys_padded;
    int64_t keys = n ? seen(g, t + n - 1) : 0;
    for (int64_t u = 0; u < keys; u += STRIP) {
        int64_t rows = least(STRIP, keys - u);
        int64_t common = first_row(g, u + rows - 1) - t;
        common = common > 0 ? common : 0;
        for (int64_t k = u; k < u + rows && common > 0; k++) {
            int64_t from = first_row(g, k) - t;
            from = from > 0 ? from : 0;
            g->queue->loops->product(&(struct hc_host_product){
                1, columns, common - from, s + from * step + k, 1, step, y + from * columns,
                columns, sum + k * columns, columns, true});
        }
        g->queue->loops->product(&(struct hc_host_product){
            rows, columns, n - common, s + common * step + u, 1, step, y + common * columns,
            columns, sum + u * columns, columns, true});
    }
}

/* Floats of a thread's scratch: of the forward pass k turned, v, q, scores and y; one row. */
static int64_t forward_floats(const struct heads *g)
{
    return g->depth * g->keys_padded + g->keys * g->width_padded +
           BLOCK * (g->depth + g->keys_padded + g->width_padded) + g->depth;
}

/* Of the gradient: k and v turned, k, dk, dv; q, dy, two of scores and dq; one row. */
static int64_t backward_floats(const struct heads *g)
{
    return (g->depth + g->width) * g->keys_padded +
           g->keys * (2 * g->depth_padded + g->width_padded) +
           BLOCK * (2 * g->depth_padded + g->width_padded + 2 * g->keys_padded) + g->depth +
           g->width;
}

static int team(const struct heads *g)
{
    int64_t products = g->heads * g->rows * g->keys * (g->depth + g->width);
    int threads = hc_host_team(g->queue, products);
    return g->heads < threads ? (g->heads > 0 ? (int)g->heads : 1) : threads;
}

size_t hc_host_attention_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct heads g = heads_of(queue, call);
    int64_t floats = call->op == HC_OP_attention ? forward_floats(&g) : backward_floats(&g);
    return (size_t)(team(&g) * padded(floats)) * sizeof(float);
}

static void finish_row(const struct heads *g, int64_t row, float *y, float max, float sum)
{
    const struct hc_tensor *to = &g->call->out[HC_ATTENTION_Y];
    for (int64_t e = 0; e < g->width; e++)
        y[e] = sum != 0 ? y[e] / sum : 0;
    g->queue->loops->store(to->format, y, g->width, hc_host_element(to, row * g->width));
    hc_host_set(&g->call->out[HC_ATTENTION_LSE], row, max + logf(sum));
}

static void forward(const struct heads *g, int64_t head, float *scratch)
{
    const struct hc_tensor *in = g->call->in;
    float *k = scratch;
    float *v = k + g->depth * g->keys_padded;
    float *q = v + g->keys * g->width_padded;
    float *s = q + BLOCK * g->depth;
    float *y = s + BLOCK * g->keys_padded;
    float *row = y + BLOCK * g->width_padded;
    load_turned(g, &in[HC_ATTENTION_K], head, row, k, g->keys_padded);
    load_rows(g, &in[HC_ATTENTION_V], head, 0, g->keys, v, g->width_padded);
    for (int64_t t = 0; t < g->rows; t += BLOCK) {
        int64_t n = least(BLOCK, g->rows - t);
        float max[BLOCK];
        float sum[BLOCK];
        load_rows(g, &in[HC_ATTENTION_Q], head, t, n, q, g->depth);
        scores(g, t, n, q, g->depth, g->depth, k, s);
        for (int64_t i = 0; i < n; i++)
            g->queue->loops->weights(s + i * g->keys_padded, seen(g, t + i), g->scale, &max[i],
                                     &sum[i]);
        over_keys(g, t, n, s, v, g->width_padded, y);
        for (int64_t i = 0; i < n; i++)
            finish_row(g, head * g->rows + t + i, y + i * g->width_padded, max[i], sum[i]);
    }
}

typedef void pass(const struct heads *g, int64_t head, float *scratch);

/* A call for one thread wakes nobody. */
static enum hc_status each_head(const struct heads *g, pass *run, int64_t floats)
{
    float *scratch = g->call->scratch;
    int threads = team(g);
    if (threads == 1)
        for (int64_t head = 0; head < g->heads; head++)
            run(g, head, scratch);
    else
#pragma omp parallel for num_threads(threads)
        for (int64_t head = 0; head < g->heads; head++)
            run(g, head, scratch + omp_get_thread_num() * padded(floats));
    return HC_OK;
}

enum hc_status hc_host_attention(struct hc_queue *queue, const struct hc_call *call)
{
    struct heads g = heads_of(queue, call);
    return each_head(&g, forward, forward_floats(&g));
}

/* n rows of sums, each times `factor`, into rows of t from `first` on. */
static void store_rows(const struct heads *g, const struct hc_tensor *t, int64_t first, int64_t n,
                       float factor, float *from, int64_t step)
{
    int64_t width = t->shape[2];
    for (int64_t i = 0; i < n; i++, from += step) {
        for (int64_t d = 0; d < width && factor != 1; d++)
            from[d] *= factor;
        g->queue->loops->store(t->format, from, width, hc_host_element(t, (first + i) * width));
    }
}

/* Rounds n numbers into the format of q, as the definition stores weights before products. */
static void store_weights(const struct heads *g, int64_t n, float *x)
{
    enum hc_format format = g->call->in[HC_ATTENTION_BWD_Q].format;
    uint16_t stored[HC_HOST_BLOCK];
    for (int64_t at = 0; at < n && format != HC_FP32; at += HC_HOST_BLOCK) {
        int64_t count = least(HC_HOST_BLOCK, n - at);
        g->queue->loops->store(format, x + at, count, stored);
        g->queue->loops->load(format, stored, count, x + at);
    }
}

/* Weights and gradients of scores of row t + i, in place of scores s and dy v. */
static void weigh(const struct heads *g, int64_t head, int64_t t, int64_t i, const float *dy,
                  float *s, float *dp)
{
    const struct hc_tensor *o = &g->call->in[HC_ATTENTION_BWD_O];
    int64_t row = head * g->rows + t + i;
    float a = 0;
    for (int64_t e = 0; e < g->width; e++)
        a += dy[i * g->width_padded + e] * hc_host_get(o, row * g->width + e);
    s += i * g->keys_padded;
    dp += i * g->keys_padded;
    g->queue->loops->weights_back(s, dp, seen(g, t + i), g->scale,
                                  hc_host_get(&g->call->in[HC_ATTENTION_BWD_LSE], row), a);
    store_weights(g, seen(g, t + i), s);
    store_weights(g, seen(g, t + i), dp);
}

static void backward(const struct heads *g, int64_t head, float *scratch)
{
    const struct hc_call *call = g->call;
    int64_t depth = g->depth_padded;
    int64_t width = g->width_padded;
    float *turned_k = scratch;
    float *turned_v = turned_k + g->depth * g->keys_padded;
    float *k = turned_v + g->width * g->keys_padded;
    float *dk = k + g->keys * depth;
    float *dv = dk + g->keys * depth;
    float *q = dv + g->keys * width;
    float *dq = q + BLOCK * depth;
    float *dy = dq + BLOCK * depth;
    float *s = dy + BLOCK * width;
    float *dp = s + BLOCK * g->keys_padded;
    float *row = dp + BLOCK * g->keys_padded;
    load_turned(g, &call->in[HC_ATTENTION_BWD_K], head, row, turned_k, g->keys_padded);
    load_turned(g, &call->in[HC_ATTENTION_BWD_V], head, row, turned_v, g->keys_padded);
    load_rows(g, &call->in[HC_ATTENTION_BWD_K], head, 0, g->keys, k, depth);
    memset(dk, 0, (size_t)(g->keys * (depth + width)) * sizeof *dk); /* and dv */
    for (int64_t t = 0; t < g->rows; t += BLOCK) {
        int64_t n = least(BLOCK, g->rows - t);
        load_rows(g, &call->in[HC_ATTENTION_BWD_Q], head, t, n, q, depth);
        load_rows(g, &call->in[HC_ATTENTION_BWD_DY], head, t, n, dy, width);
        scores(g, t, n, q, g->depth, depth, turned_k, s);
        scores(g, t, n, dy, g->width, width, turned_v, dp);
        for (int64_t i = 0; i < n; i++)
            weigh(g, head, t, i, dy, s, dp);
        over_keys(g, t, n, dp, k, depth, dq);
        over_rows(g, t, n, dp, q, depth, dk);
        over_rows(g, t, n, s, dy, width, dv);
        store_rows(g, &call->out[HC_ATTENTION_BWD_DQ], head * g->rows + t, n, g->scale, dq, depth);
    }
    store_rows(g, &call->out[HC_ATTENTION_BWD_DK], head * g->keys, g->keys, g->scale, dk, depth);
    store_rows(g, &call->out[HC_ATTENTION_BWD_DV], head * g->keys, g->keys, 1, dv, width);
}

enum hc_status hc_host_attention_backward(struct hc_queue *queue, const struct hc_call *call)
{
    struct heads g = heads_of(queue, call);
    return each_head(&g, backward, backward_floats(&g));
}
