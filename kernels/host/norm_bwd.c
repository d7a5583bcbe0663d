/* Batch norm, backward, with or without leaky ReLU. The chunks' sums are combined in order, in
   fp64, then a second pass computes dx. With leaky ReLU the first pass leaves dz in dx's memory,
   where the second one finds it; if dx has another format, the second computes dz once more. */
#include "kernels/exact/exact.h"
#include "kernels/host/norm_tiling.h"

struct pass {
    const struct hc_host_loops *loops;
    struct hc_host_flow flow;
    const struct hc_tensor *dx;
    struct hc_norm_sums sums; /* of the chunk */
    struct hc_host_norm by;   /* of all lanes */
};

static void add_products(const void *context, const struct hc_norm_panel *t)
{
    const struct pass *p = context;
    struct hc_host_norm norm = hc_norm_at(&p->by, t->lane);
    p->loops->products(t->rows, &p->flow, &norm, p->sums.first + t->lane, p->sums.second + t->lane);
}

static void store_gradient(const void *context, const struct hc_norm_panel *t)
{
    const struct pass *p = context;
    struct hc_host_norm norm = hc_norm_at(&p->by, t->lane);
    p->loops->gradient(t->rows, &p->flow, &norm, p->dx);
}

static void chunk_gradients(struct pass *p, const struct hc_norm_tiling *c, float *scratch,
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
static void combine(const struct hc_call *call, const struct hc_norm_tiling *c,
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

static void sum_chunks(const struct hc_norm_tiling *c, float *scratch, struct pass *p)
{
    struct hc_norm_share share = hc_norm_share_of(c);
    for (int64_t k = share.first; k < share.end; k++)
        chunk_gradients(p, c, scratch, k);
}

static void run(const struct hc_queue *queue, const struct hc_call *call,
                const struct hc_norm_tiling *c, const struct pass *pass)
{
    struct hc_tensor dz = *pass->flow.dy;
    dz.data = pass->flow.dz;
#pragma omp parallel num_threads(c->chunks > 1 ? queue->threads : 1)
    {
        struct pass p = *pass;
        struct hc_norm_share share = hc_norm_share_of(c);
        sum_chunks(c, call->scratch, &p);
        if (p.flow.dz)
            p.flow = (struct hc_host_flow){.x = p.flow.x, .dy = &dz};
#pragma omp barrier
#pragma omp single
        {
            for (int64_t j = 0; j < c->channels; j++)
                combine(call, c, &p.by, j);
            hc_norm_repeat_lanes(c, &p.by);
        }
        for (int64_t k = share.end - 1; k >= share.first; k--)
            hc_norm_each_panel(c, k, store_gradient, &p);
    }
}

/* Without what only some of the gradients have: dx, and the means. */
static struct pass pass_of(const struct hc_queue *queue, const struct hc_call *call,
                           const struct hc_norm_tiling *c)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    struct pass p = {.loops = queue->loops,
                     .flow = {&call->in[s->x], s->y < 0 ? NULL : &call->in[s->y], &call->in[s->dy],
                              hc_parameter(call->params.bn.slope), NULL},
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
    struct pass p = pass_of(queue, call, &c);
    p.dx = &call->out[HC_BN_BWD_DX];
    if (p.flow.y && p.dx->format == p.flow.dy->format)
        p.flow.dz = p.dx->data;
    hc_norm_repeat_lanes(&c, &p.by);
    run(queue, call, &c, &p);
    return HC_OK;
}

enum hc_status hc_host_norm_bwd_sums(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_BWD_SUMS_X]);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    struct pass pass = pass_of(queue, call, &c);
    hc_norm_repeat_lanes(&c, &pass.by);
#pragma omp parallel num_threads(c.chunks > 1 ? queue->threads : 1)
    {
        struct pass p = pass;
        sum_chunks(&c, call->scratch, &p);
    }
    for (int64_t j = 0; j < c.channels; j++)
        combine(call, &c, &pass.by, j);
    return HC_OK;
}

enum hc_status hc_host_norm_bwd_apply(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_BWD_APPLY_X]);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    struct pass p = pass_of(queue, call, &c);
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
