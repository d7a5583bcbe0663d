/* Batch norm, with or without leaky ReLU.

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

struct pass {
    const struct hc_host_loops *loops;
    const struct hc_tensor *x;
    const struct hc_tensor *y;
    struct hc_norm_sums sums; /* of the chunk */
    struct hc_host_norm by;   /* of all lanes */
    const float *slope;       /* of leaky ReLU, or NULL */
};

static void add_columns(const void *context, const struct hc_norm_panel *t)
{
    const struct pass *p = context;
    p->loops->columns(t->rows, p->x, p->sums.mean + t->lane);
}

static void add_squares(const void *context, const struct hc_norm_panel *t)
{
    const struct pass *p = context;
    p->loops->squares(t->rows, p->x, p->sums.mean + t->lane, p->sums.first + t->lane,
                      p->sums.second + t->lane);
}

static void normalize_panel(const void *context, const struct hc_norm_panel *t)
{
    const struct pass *p = context;
    struct hc_host_norm norm = hc_norm_at(&p->by, t->lane);
    p->loops->normalize(t->rows, p->x, &norm, p->slope, p->y);
}

static void chunk_statistics(struct pass *p, const struct hc_norm_tiling *c, float *scratch,
                             int64_t chunk)
{
    int64_t rows = hc_norm_rows_of(c, chunk);
    p->sums = hc_norm_sums_of(c, scratch, chunk);
    hc_norm_clear(c, p->sums.mean);
    hc_norm_clear(c, p->sums.first);
    hc_norm_clear(c, p->sums.second);
    hc_norm_each_panel(c, chunk, add_columns, p);
    hc_norm_sum_lanes(c, p->sums.mean);
    for (int64_t j = 0; j < c->lanes; j++)
        p->sums.mean[j] /= (float)rows;
    hc_norm_each_panel(c, chunk, add_squares, p);
    hc_norm_sum_lanes(c, p->sums.first);
    hc_norm_sum_lanes(c, p->sums.second);
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

/* What normalizes channel j in training. */
static void channel_statistics(const struct hc_call *call, const struct hc_norm_tiling *c,
                               struct hc_host_norm *w, int64_t j)
{
    double mean;
    double squares;
    combine(c, call->scratch, j, &mean, &squares);
    store_statistics(call, c, w, j, mean, squares);
    w->gain[j] = hc_host_get(&call->in[HC_BN_GAMMA], j);
    w->shift[j] = hc_host_get(&call->in[HC_BN_BETA], j);
    w->slope[j] = 0;
}

/* Fills the scratch with the sums of all chunks. */
static void sum_chunks(const struct hc_norm_tiling *c, float *scratch, struct pass *p)
{
    struct hc_norm_share share = hc_norm_share_of(c);
    for (int64_t k = share.first; k < share.end; k++)
        chunk_statistics(p, c, scratch, k);
}

static void train(const struct hc_queue *queue, const struct hc_call *call,
                  const struct hc_norm_tiling *c, const struct pass *pass)
{
#pragma omp parallel num_threads(c->chunks > 1 ? queue->threads : 1)
    {
        struct pass p = *pass;
        struct hc_norm_share share = hc_norm_share_of(c);
        sum_chunks(c, call->scratch, &p);
#pragma omp barrier
#pragma omp single
        {
            for (int64_t j = 0; j < c->channels; j++)
                channel_statistics(call, c, &p.by, j);
            hc_norm_repeat_lanes(c, &p.by);
        }
        for (int64_t k = share.end - 1; k >= share.first; k--)
            hc_norm_each_panel(c, k, normalize_panel, &p);
    }
}

static void infer(const struct hc_queue *queue, const struct hc_call *call,
                  const struct hc_norm_tiling *c, const struct pass *p)
{
    float eps = hc_parameter(call->params.bn.eps);
    const struct hc_host_norm *w = &p->by;
    for (int64_t j = 0; j < c->channels; j++) {
        w->mean[j] = hc_host_get(&call->in[HC_BN_MEAN], j);
        w->invstd[j] = 1 / sqrtf(hc_host_get(&call->in[HC_BN_VARIANCE], j) + eps);
        w->gain[j] = hc_host_get(&call->in[HC_BN_GAMMA], j);
        w->shift[j] = hc_host_get(&call->in[HC_BN_BETA], j);
        w->slope[j] = 0;
    }
    hc_norm_repeat_lanes(c, w);
#pragma omp parallel for num_threads(c->chunks > 1 ? queue->threads : 1) schedule(static)
    for (int64_t k = 0; k < c->chunks; k++)
        hc_norm_each_panel(c, k, normalize_panel, p);
}

enum hc_status hc_host_norm_moments(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_MOMENTS_X]);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
#pragma omp parallel num_threads(c.chunks > 1 ? queue->threads : 1)
    {
        struct pass p = {.loops = queue->loops, .x = &call->in[HC_BN_MOMENTS_X]};
        sum_chunks(&c, call->scratch, &p);
    }
    for (int64_t j = 0; j < c.channels; j++) {
        double mean;
        double squares;
        combine(&c, call->scratch, j, &mean, &squares);
        hc_host_set(&call->out[HC_BN_MOMENTS_MEAN], j, (float)mean);
        hc_host_set(&call->out[HC_BN_MOMENTS_VARIANCE], j, (float)(squares / (double)c.rows));
    }
    return HC_OK;
}

enum hc_status hc_host_norm(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_X]);
    bool leaky = call->op == HC_OP_bn_leaky_train || call->op == HC_OP_bn_leaky_infer;
    float slope = hc_parameter(call->params.bn.slope);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    struct pass p = {.loops = queue->loops,
                     .x = &call->in[HC_BN_X],
                     .y = &call->out[HC_BN_Y],
                     .by = hc_norm_channels_of(&c, call->scratch),
                     .slope = leaky ? &slope : NULL};
    (call->op == HC_OP_bn_train || call->op == HC_OP_bn_leaky_train ? train : infer)(queue, call,
                                                                                     &c, &p);
    return HC_OK;
}

/* Batch norm, backward, with or without leaky ReLU. The chunks' sums are combined in order, in
   fp64, then a second pass computes dx. With leaky ReLU the first pass leaves dz in dx's memory,
   where the second one finds it; if dx has another format, the second computes dz once more. */

struct pass_bwd {
    const struct hc_host_loops *loops;
    struct hc_host_flow flow;
    const struct hc_tensor *dx;
    struct hc_norm_sums sums; /* of the chunk */
    struct hc_host_norm by;   /* of all lanes */
};

static void add_products(const void *context, const struct hc_norm_panel *t)
{
    const struct pass_bwd *p = context;
    struct hc_host_norm norm = hc_norm_at(&p->by, t->lane);
    p->loops->products(t->rows, &p->flow, &norm, p->sums.first + t->lane, p->sums.second + t->lane);
}

static void store_gradient(const void *context, const struct hc_norm_panel *t)
{
    const struct pass_bwd *p = context;
    struct hc_host_norm norm = hc_norm_at(&p->by, t->lane);
    p->loops->gradient(t->rows, &p->flow, &norm, p->dx);
}

static void chunk_gradients(struct pass_bwd *p, const struct hc_norm_tiling *c, float *scratch,
                            int64_t chunk)
{
    p->sums = hc_norm_sums_of(c, scratch, chunk);
    hc_norm_clear(c, p->sums.first);
    hc_norm_clear(c, p->sums.second);
    hc_norm_each_panel(c, chunk, add_products, p);
    hc_norm_sum_lanes(c, p->sums.first);
    hc_norm_sum_lanes(c, p->sums.second);
}

/* Adds up the chunks' sums of channel j, and sets what its dx needs of them. */
static void combine_bwd(const struct hc_call *call, const struct hc_norm_tiling *c,
                        const struct hc_host_norm *w, int64_t j)
{
    const struct hc_bn_bwd_slots *to = hc_bn_bwd_slots(call->op);
    double dbeta = 0;
    double dgamma = 0;
    for (int64_t k = 0; k < c->chunks; k++) {
        struct hc_norm_sums s = hc_norm_sums_of(c, call->scratch, k);
        dbeta += (double)s.first[j];
        dgamma += (double)s.second[j];
    }
    w->shift[j] = (float)(dbeta / (double)c->rows);
    w->slope[j] = (float)(dgamma / (double)c->rows);
    hc_host_set(&call->out[to->dgamma], j, (float)dgamma);
    hc_host_set(&call->out[to->dbeta], j, (float)dbeta);
}

static void sum_chunks_bwd(const struct hc_norm_tiling *c, float *scratch, struct pass_bwd *p)
{
    struct hc_norm_share share = hc_norm_share_of(c);
    for (int64_t k = share.first; k < share.end; k++)
        chunk_gradients(p, c, scratch, k);
}

static void run_backward(const struct hc_queue *queue, const struct hc_call *call,
                         const struct hc_norm_tiling *c, const struct pass_bwd *pass_bwd)
{
    struct hc_tensor dz = *pass_bwd->flow.dy;
    dz.data = pass_bwd->flow.dz;
#pragma omp parallel num_threads(c->chunks > 1 ? queue->threads : 1)
    {
        struct pass_bwd p = *pass_bwd;
        struct hc_norm_share share = hc_norm_share_of(c);
        sum_chunks_bwd(c, call->scratch, &p);
        if (p.flow.dz)
            p.flow = (struct hc_host_flow){.x = p.flow.x, .dy = &dz};
#pragma omp barrier
#pragma omp single
        {
            for (int64_t j = 0; j < c->channels; j++)
                combine_bwd(call, c, &p.by, j);
            hc_norm_repeat_lanes(c, &p.by);
        }
        for (int64_t k = share.end - 1; k >= share.first; k--)
            hc_norm_each_panel(c, k, store_gradient, &p);
    }
}

/* Without what only some of the gradients have: dx, and the means. */
static struct pass_bwd pass_of(const struct hc_queue *queue, const struct hc_call *call,
                               const struct hc_norm_tiling *c)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    struct pass_bwd p = {.loops = queue->loops,
                         .flow = {&call->in[s->x], s->y < 0 ? NULL : &call->in[s->y],
                                  &call->in[s->dy], hc_parameter(call->params.bn.slope), NULL},
                         .by = hc_norm_channels_of(c, call->scratch)};
    for (int64_t j = 0; j < c->channels; j++) {
        p.by.mean[j] = hc_host_get(&call->in[s->mean], j);
        p.by.invstd[j] = hc_host_get(&call->in[s->invstd], j);
        p.by.gain[j] = s->gamma < 0 ? 0 : hc_host_get(&call->in[s->gamma], j) * p.by.invstd[j];
        p.by.shift[j] = p.by.slope[j] = 0;
    }
    return p;
}

enum hc_status hc_host_norm_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[hc_bn_bwd_slots(call->op)->x]);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    struct pass_bwd p = pass_of(queue, call, &c);
    p.dx = &call->out[HC_BN_BWD_DX];
    if (p.flow.y && p.dx->format == p.flow.dy->format)
        p.flow.dz = p.dx->data;
    hc_norm_repeat_lanes(&c, &p.by);
    run_backward(queue, call, &c, &p);
    return HC_OK;
}

enum hc_status hc_host_norm_bwd_sums(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_BWD_SUMS_X]);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    struct pass_bwd pass_bwd = pass_of(queue, call, &c);
    hc_norm_repeat_lanes(&c, &pass_bwd.by);
#pragma omp parallel num_threads(c.chunks > 1 ? queue->threads : 1)
    {
        struct pass_bwd p = pass_bwd;
        sum_chunks_bwd(&c, call->scratch, &p);
    }
    for (int64_t j = 0; j < c.channels; j++)
        combine_bwd(call, &c, &pass_bwd.by, j);
    return HC_OK;
}

enum hc_status hc_host_norm_bwd_apply(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_BWD_APPLY_X]);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    struct pass_bwd p = pass_of(queue, call, &c);
    p.dx = &call->out[HC_BN_BWD_APPLY_DX];
    for (int64_t j = 0; j < c.channels; j++) {
        p.by.shift[j] = hc_host_get(&call->in[HC_BN_BWD_APPLY_MEAN_DBETA], j);
        p.by.slope[j] = hc_host_get(&call->in[HC_BN_BWD_APPLY_MEAN_DGAMMA], j);
    }
    hc_norm_repeat_lanes(&c, &p.by);
#pragma omp parallel for num_threads(c.chunks > 1 ? queue->threads : 1) schedule(static)
    for (int64_t k = 0; k < c.chunks; k++)
        hc_norm_each_panel(&c, k, store_gradient, &p);
    return HC_OK;
}
