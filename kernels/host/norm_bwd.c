/* Batch norm, backward, with or without leaky ReLU. The chunks' sums are combined in order, in
   fp64, then a second pass computes dx. */
#include "kernels/exact/exact.h"
#include "kernels/host/norm_tiling.h"

/* The tensors of a call of bn_bwd, where dz is dy, or of bn_leaky_bwd, where y is given. */
struct tensors {
    const struct hc_tensor *x;
    const struct hc_tensor *y; /* or NULL */
    const struct hc_tensor *dy;
    const struct hc_tensor *gamma;
    const struct hc_tensor *mean;
    const struct hc_tensor *invstd;
    struct hc_tensor dz;
    float slope;
};

/* leaky_relu_bwd's dz lies in dx's memory, or behind the sums if dx has another format. */
static struct tensors tensors_of(const struct hc_call *call, const struct hc_norm_tiling *c)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    const struct hc_tensor *dx = &call->out[HC_BN_BWD_DX];
    struct tensors t = {.x = &call->in[s->x],
                        .y = s->y < 0 ? NULL : &call->in[s->y],
                        .dy = &call->in[s->dy],
                        .gamma = &call->in[s->gamma],
                        .mean = &call->in[s->mean],
                        .invstd = &call->in[s->invstd],
                        .dz = call->in[s->dy],
                        .slope = hc_parameter(call->params.bn.slope)};
    if (t.y)
        t.dz.data =
            dx->format == t.dy->format ? dx->data : (float *)call->scratch + hc_norm_floats(c);
    return t;
}

/* Computes n elements of dz from element `at` on, rounded as leaky_relu_bwd rounds them, and
   returns them as fp32. */
static const float *compute_dz(const struct hc_queue *queue, const struct tensors *t, int64_t at,
                               int64_t n, float *buffer)
{
    if (!t->y)
        return hc_host_view(queue, &t->dz, at, n, buffer);
    float signs[HC_NORM_BLOCK];
    struct hc_map_scalars scalars = {.factor = t->slope};
    const float *const in[3] = {hc_host_view(queue, t->y, at, n, signs),
                                hc_host_view(queue, t->dy, at, n, buffer)};
    float *to = hc_host_target(&t->dz, at, buffer);
    queue->loops->map[HC_OP_leaky_relu_bwd](in, to, n, &scalars);
    hc_host_flush(queue, &t->dz, at, n, to);
    return hc_host_view(queue, &t->dz, at, n, buffer);
}

static void chunk_gradients(const struct hc_queue *queue, const struct tensors *tensors,
                            const struct hc_norm_tiling *c, float *scratch, int64_t chunk)
{
    struct hc_host_norm w = hc_norm_channels_of(c, scratch);
    struct hc_norm_sums s = hc_norm_sums_of(c, scratch, chunk);
    int64_t rows = hc_norm_rows_of(c, chunk);
    float buffer[2][HC_NORM_BLOCK];
    struct hc_norm_panel t;
    hc_norm_clear(c, s.first);
    hc_norm_clear(c, s.second);
    for (int64_t n, done = 0; done < rows; done += n) {
        n = hc_norm_block_rows(c, done, rows);
        int64_t first = (chunk * c->chunk + done) * c->channels;
        const float *x = hc_host_view(queue, tensors->x, first, n * c->channels, buffer[0]);
        const float *dz = compute_dz(queue, tensors, first, n * c->channels, buffer[1]);
        for (int i = 0; hc_norm_panel_of(c, n, i, &t); i++) {
            struct hc_host_norm norm = hc_norm_at(&w, t.lane);
            queue->loops->products(t.rows, x + t.at, dz + t.at, &norm, s.first + t.lane,
                                   s.second + t.lane);
        }
    }
    hc_norm_sum_lanes(c, s.first);
    hc_norm_sum_lanes(c, s.second);
}

static void gradient(struct hc_queue *queue, const struct tensors *tensors,
                     const struct hc_tensor *out, const struct hc_norm_tiling *c,
                     const struct hc_host_norm *w)
{
    bool small = c->rows * c->channels <= HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (!small)
    for (int64_t row = 0; row < c->rows; row += c->block) {
        float buffer[3][HC_NORM_BLOCK];
        struct hc_norm_panel t;
        int64_t rows = hc_norm_block_rows(c, row, c->rows);
        int64_t first = row * c->channels;
        int64_t n = rows * c->channels;
        const float *x = hc_host_view(queue, tensors->x, first, n, buffer[0]);
        const float *dz = hc_host_view(queue, &tensors->dz, first, n, buffer[1]);
        float *dx = hc_host_target(out, first, buffer[2]);
        for (int i = 0; hc_norm_panel_of(c, rows, i, &t); i++) {
            struct hc_host_norm norm = hc_norm_at(w, t.lane);
            queue->loops->gradient(t.rows, x + t.at, dz + t.at, &norm, dx + t.at);
        }
        hc_host_flush(queue, out, first, n, dx);
    }
}

enum hc_status hc_host_norm_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_BN_BWD_X]);
    if (!hc_norm_fits(&c))
        return hc_exact_run(queue, call);
    struct tensors t = tensors_of(call, &c);
    struct hc_host_norm w = hc_norm_channels_of(&c, call->scratch);
    for (int64_t j = 0; j < c.channels; j++) {
        w.mean[j] = hc_host_get(t.mean, j);
        w.invstd[j] = hc_host_get(t.invstd, j);
        w.gain[j] = hc_host_get(t.gamma, j) * w.invstd[j];
        w.shift[j] = w.slope[j] = 0;
    }
    hc_norm_repeat_lanes(&c, &w);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (c.chunks > 1)
    for (int64_t k = 0; k < c.chunks; k++)
        chunk_gradients(queue, &t, &c, call->scratch, k);
    for (int64_t j = 0; j < c.channels; j++) {
        double dbeta = 0;
        double dgamma = 0;
        for (int64_t k = 0; k < c.chunks; k++) {
            struct hc_norm_sums s = hc_norm_sums_of(&c, call->scratch, k);
            dbeta += (double)s.first[j];
            dgamma += (double)s.second[j];
        }
        w.shift[j] = (float)(dbeta / (double)c.rows);
        w.slope[j] = (float)(dgamma / (double)c.rows);
        hc_host_set(&call->out[HC_BN_BWD_DGAMMA], j, (float)dgamma);
        hc_host_set(&call->out[HC_BN_BWD_DBETA], j, (float)dbeta);
    }
    hc_norm_repeat_lanes(&c, &w);
    gradient(queue, &t, &call->out[HC_BN_BWD_DX], &c, &w);
    return HC_OK;
}
