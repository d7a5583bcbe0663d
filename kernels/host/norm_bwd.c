/* Batch norm, backward, with or without leaky ReLU: the chunks' sums are combined in order, in fp64. */
#include "kernels/exact/exact.h"
#include "kernels/host/norm_cut.h"
#include "kernels/load.h"

static float at(const struct hc_tensor *t, int64_t j)
{
    return hc_load(t->format, t->data, j);
}

static void put(const struct hc_tensor *t, int64_t j, float value)
{
    hc_store(t->format, t->data, j, value);
}

/* A call of bn_bwd, or of bn_leaky_bwd: then y is there. */
struct tensors {
    const struct hc_tensor *x;
    const struct hc_tensor *y; /* or NULL */
    const struct hc_tensor *dy;
    const struct hc_tensor *gamma;
    const struct hc_tensor *mean;
    const struct hc_tensor *invstd;
    float slope;
};

static struct tensors tensors_of(const struct hc_call *call, bool leaky)
{
    const struct hc_tensor *after = &call->in[leaky ? 2 : 1];
    return (struct tensors){.x = &call->in[0],
                            .y = leaky ? &call->in[1] : NULL,
                            .dy = after,
                            .gamma = after + 1,
                            .mean = after + 2,
                            .invstd = after + 3,
                            .slope = (float)call->params.bn.slope};
}

/* n elements of dz from element `at` on: those of dy, or leaky_relu_bwd's as it rounds them. */
static const float *view_dz(const struct hc_queue *queue, const struct tensors *t, int64_t at,
                            int64_t n, float *room)
{
    const float *dy = hc_host_view(queue, t->dy, at, n, room);
    if (!t->y)
        return dy;
    float signs[HC_NORM_BLOCK];
    uint16_t rounded[HC_NORM_BLOCK];
    struct hc_host_scalars scalars = {.by = t->slope};
    const float *const in[3] = {hc_host_view(queue, t->y, at, n, signs), dy};
    queue->loops->map[HC_OP_leaky_relu_bwd](in, room, n, &scalars);
    if (t->dy->format != HC_FP32) {
        queue->loops->store(t->dy->format, room, n, rounded);
        queue->loops->load(t->dy->format, rounded, n, room);
    }
    return room;
}

static void chunk_gradients(const struct hc_queue *queue, const struct tensors *tensors,
                            const struct hc_norm_cut *c, float *scratch, int64_t chunk)
{
    struct hc_norm_whole w = hc_norm_whole_of(c, scratch);
    struct hc_norm_sums s = hc_norm_sums_of(c, scratch, chunk);
    int64_t rows = hc_norm_rows_of(c, chunk);
    float room[2][HC_NORM_BLOCK];
    struct hc_norm_strip t;
    hc_norm_clear(c, s.first);
    hc_norm_clear(c, s.second);
    for (int64_t n, done = 0; done < rows; done += n) {
        n = hc_norm_block_rows(c, done, rows);
        int64_t first = (chunk * c->chunk + done) * c->channels;
        const float *x = hc_host_view(queue, tensors->x, first, n * c->channels, room[0]);
        const float *dz = view_dz(queue, tensors, first, n * c->channels, room[1]);
        for (int i = 0; hc_norm_strip_of(c, n, i, &t); i++) {
            struct hc_host_norm norm = hc_norm_at(&w, t.lane);
            queue->loops->products(t.rows, x + t.at, dz + t.at, &norm, s.first + t.lane,
                                   s.second + t.lane);
        }
    }
    hc_norm_fold(c, s.first);
    hc_norm_fold(c, s.second);
}

static void gradient(struct hc_queue *queue, const struct tensors *tensors,
                     const struct hc_tensor *out, const struct hc_norm_cut *c,
                     const struct hc_norm_whole *w)
{
    bool small = c->rows * c->channels <= HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (!small)
    for (int64_t row = 0; row < c->rows; row += c->block) {
        float room[3][HC_NORM_BLOCK];
        struct hc_norm_strip t;
        int64_t rows = hc_norm_block_rows(c, row, c->rows);
        int64_t first = row * c->channels;
        int64_t n = rows * c->channels;
        const float *x = hc_host_view(queue, tensors->x, first, n, room[0]);
        const float *dz = view_dz(queue, tensors, first, n, room[1]);
        float *dx = hc_host_target(out, first, room[2]);
        for (int i = 0; hc_norm_strip_of(c, rows, i, &t); i++) {
            struct hc_host_norm norm = hc_norm_at(w, t.lane);
            queue->loops->gradient(t.rows, x + t.at, dz + t.at, &norm, dx + t.at);
        }
        hc_host_flush(queue, out, first, n, dx);
    }
}

static void run(struct hc_queue *queue, const struct hc_call *call, const struct hc_norm_cut *c,
                bool leaky)
{
    struct tensors t = tensors_of(call, leaky);
    struct hc_norm_whole w = hc_norm_whole_of(c, call->scratch);
    for (int64_t j = 0; j < c->channels; j++) {
        w.mean[j] = at(t.mean, j);
        w.invstd[j] = at(t.invstd, j);
        w.gain[j] = at(t.gamma, j) * w.invstd[j];
        w.shift[j] = w.slope[j] = 0;
    }
    hc_norm_spread(c, &w);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (c->chunks > 1)
    for (int64_t k = 0; k < c->chunks; k++)
        chunk_gradients(queue, &t, c, call->scratch, k);
    for (int64_t j = 0; j < c->channels; j++) {
        double dbeta = 0;
        double dgamma = 0;
        for (int64_t k = 0; k < c->chunks; k++) {
            struct hc_norm_sums s = hc_norm_sums_of(c, call->scratch, k);
            dbeta += (double)s.first[j];
            dgamma += (double)s.second[j];
        }
        w.shift[j] = (float)(dbeta / (double)c->rows);
        w.slope[j] = (float)(dgamma / (double)c->rows);
        put(&call->out[1], j, (float)dgamma);
        put(&call->out[2], j, (float)dbeta);
    }
    hc_norm_spread(c, &w);
    gradient(queue, &t, &call->out[0], c, &w);
}

enum hc_status hc_host_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_cut c = hc_norm_cut_of(&call->in[0]);
    if (!hc_norm_fits(&c))
        return hc_exact_bn_bwd(queue, call);
    run(queue, call, &c, false);
    return HC_OK;
}

enum hc_status hc_host_bn_leaky_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_cut c = hc_norm_cut_of(&call->in[0]);
    if (!hc_norm_fits(&c))
        return hc_exact_bn_leaky_bwd(queue, call);
    run(queue, call, &c, true);
    return HC_OK;
}
