/* Batch norm, forward, with or without leaky ReLU.

   By the definition, mean and variance need two passes over the tensor, and memory is what limits
   them. Here one pass is enough. The tensor is divided into chunks that fit the second-level cache,
   and a chunk is read twice while it is there: first for its own mean p, then for r = sum (x - p)
   and q = sum (x - p)^2. The chunks' sums are combined in order, in fp64. Over chunks of n rows,
   with the mean m of all M rows,

     m = sum (n p + r) / M,     sum (x - m)^2 = sum (q + 2 (p - m) r + n (p - m)^2).

   Both are exact for any p, so p need not be rounded well. Nothing cancels here that does not
   cancel in the two passes of the definition: q and the last term are not negative, and r is no
   more than the rounding errors of p. */
#include <math.h>

#include "kernels/exact/exact.h"
#include "kernels/host/norm_tiling.h"

static void chunk_statistics(const struct hc_queue *queue, const struct hc_tensor *x,
                             const struct hc_norm_tiling *c, float *scratch, int64_t chunk)
{
    const struct hc_host_loops *loops = queue->loops;
    struct hc_norm_sums s = hc_norm_sums_of(c, scratch, chunk);
    int64_t rows = hc_norm_rows_of(c, chunk);
    int64_t first = chunk * c->chunk;
    float buffer[HC_NORM_BLOCK];
    struct hc_norm_panel t;
    hc_norm_clear(c, s.mean);
    hc_norm_clear(c, s.first);
    hc_norm_clear(c, s.second);
    for (int64_t n, done = 0; done < rows; done += n) {
        n = hc_norm_block_rows(c, done, rows);
        const float *values =
            hc_host_view(queue, x, (first + done) * c->channels, n * c->channels, buffer);
        for (int i = 0; hc_norm_panel_of(c, n, i, &t); i++)
            loops->columns(t.rows, values + t.at, s.mean + t.lane);
    }
    hc_norm_sum_lanes(c, s.mean);
    for (int64_t j = 0; j < c->lanes; j++)
        s.mean[j] /= (float)rows;
    for (int64_t n, done = 0; done < rows; done += n) {
        n = hc_norm_block_rows(c, done, rows);
        const float *values =
            hc_host_view(queue, x, (first + done) * c->channels, n * c->channels, buffer);
        for (int i = 0; hc_norm_panel_of(c, n, i, &t); i++)
            loops->squares(t.rows, values + t.at, s.mean + t.lane, s.first + t.lane,
                           s.second + t.lane);
    }
    hc_norm_sum_lanes(c, s.first);
    hc_norm_sum_lanes(c, s.second);
}

/* Channel j's mean, and the sum of squares about it. If a chunk's mean is infinite, its r means
   nothing. */
static void combine(const struct hc_norm_tiling *c, float *scratch, int64_t j, double *mean,
                    double *squares)
{
    double sum = 0;
    for (int64_t k = 0; k < c->chunks; k++) {
        struct hc_norm_sums s = hc_norm_sums_of(c, scratch, k);
        sum += (double)hc_norm_rows_of(c, k) * (double)s.mean[j];
        sum += isfinite(s.mean[j]) ? (double)s.first[j] : 0;
    }
    *mean = sum / (double)c->rows;
    *squares = 0;
    for (int64_t k = 0; k < c->chunks; k++) {
        struct hc_norm_sums s = hc_norm_sums_of(c, scratch, k);
        double off = (double)s.mean[j] - *mean;
        *squares += (double)s.second[j] + 2 * off * (double)s.first[j] +
                    (double)hc_norm_rows_of(c, k) * off * off;
    }
}

/* leaky_relu in place on n elements of y, which hold z as it was rounded. */
static void apply_leaky(const struct hc_queue *queue, const struct hc_call *call, int64_t at,
                        int64_t n, float *buffer)
{
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    struct hc_map_scalars scalars = {.factor = hc_parameter(call->params.bn.slope)};
    const float *const z[3] = {hc_host_view(queue, y, at, n, buffer)};
    float *to = hc_host_target(y, at, buffer);
    queue->loops->map[HC_OP_leaky_relu](z, to, n, &scalars);
    hc_host_flush(queue, y, at, n, to);
}

static void normalize(struct hc_queue *queue, const struct hc_call *call,
                      const struct hc_norm_tiling *c, const struct hc_host_norm *w, bool leaky)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    bool small = c->rows * c->channels <= HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (!small)
    for (int64_t row = 0; row < c->rows; row += c->block) {
        float buffer[2][HC_NORM_BLOCK];
        struct hc_norm_panel t;
        int64_t n = hc_norm_block_rows(c, row, c->rows);
        int64_t at = row * c->channels;
        const float *from = hc_host_view(queue, x, at, n * c->channels, buffer[0]);
        float *to = hc_host_target(y, at, buffer[1]);
        for (int i = 0; hc_norm_panel_of(c, n, i, &t); i++) {
            struct hc_host_norm norm = hc_norm_at(w, t.lane);
            queue->loops->normalize(t.rows, from + t.at, &norm, to + t.at);
        }
        hc_host_flush(queue, y, at, n * c->channels, to);
        if (leaky)
            apply_leaky(queue, call, at, n * c->channels, buffer[1]);
    }
}

/* Sets what normalizes channel j, and writes its saved and its running statistics. */
static void store_statistics(const struct hc_call *call, const struct hc_norm_tiling *c,
                             struct hc_host_norm *w, int64_t j, double mean, double squares)
{
    float momentum = hc_parameter(call->params.bn.momentum);
    double var = squares / (double)c->rows;
    float unbiased = (float)(squares / (double)(c->rows > 1 ? c->rows - 1 : c->rows));
    float old_mean = hc_host_get(&call->in[HC_BN_MEAN], j);
    float old_var = hc_host_get(&call->in[HC_BN_VARIANCE], j);
    w->mean[j] = (float)mean;
    w->invstd[j] = (float)(1 / sqrt(var + (double)hc_parameter(call->params.bn.eps)));
    hc_host_set(&call->out[HC_BN_SAVED_MEAN], j, w->mean[j]);
    hc_host_set(&call->out[HC_BN_SAVED_INVSTD], j, w->invstd[j]);
    hc_host_set(&call->out[HC_BN_NEW_MEAN], j, old_mean + momentum * (w->mean[j] - old_mean));
    hc_host_set(&call->out[HC_BN_NEW_VARIANCE], j, old_var + momentum * (unbiased - old_var));
}

static void train(struct hc_queue *queue, const struct hc_call *call,
                  const struct hc_norm_tiling *c, bool leaky)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    struct hc_host_norm w = hc_norm_channels_of(c, call->scratch);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (c->chunks > 1)
    for (int64_t k = 0; k < c->chunks; k++)
        chunk_statistics(queue, x, c, call->scratch, k);
    for (int64_t j = 0; j < c->channels; j++) {
        double mean;
        double squares;
        combine(c, call->scratch, j, &mean, &squares);
        store_statistics(call, c, &w, j, mean, squares);
        w.gain[j] = hc_host_get(&call->in[HC_BN_GAMMA], j);
        w.shift[j] = hc_host_get(&call->in[HC_BN_BETA], j);
        w.slope[j] = 0;
    }
    hc_norm_repeat_lanes(c, &w);
    normalize(queue, call, c, &w, leaky);
}

static void infer(struct hc_queue *queue, const struct hc_call *call,
                  const struct hc_norm_tiling *c, bool leaky)
{
    float eps = hc_parameter(call->params.bn.eps);
    struct hc_host_norm w = hc_norm_channels_of(c, call->scratch);
    for (int64_t j = 0; j < c->channels; j++) {
        w.mean[j] = hc_host_get(&call->in[HC_BN_MEAN], j);
        w.invstd[j] = 1 / sqrtf(hc_host_get(&call->in[HC_BN_VARIANCE], j) + eps);
        w.gain[j] = hc_host_get(&call->in[HC_BN_GAMMA], j);
        w.shift[j] = hc_host_get(&call->in[HC_BN_BETA], j);
        w.slope[j] = 0;
    }
    hc_norm_repeat_lanes(c, &w);
    normalize(queue, call, c, &w, leaky);
}

enum hc_status hc_host_norm(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_X]);
    bool leaky = call->op == HC_OP_bn_leaky_train || call->op == HC_OP_bn_leaky_infer;
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    if (call->op == HC_OP_bn_train || call->op == HC_OP_bn_leaky_train)
        train(queue, call, &c, leaky);
    else
        infer(queue, call, &c, leaky);
    return HC_OK;
}
