/* Batch norm, 16 channels at a time; sums run over the rows (n, h, w) in order, in fp32. */
#include <math.h>

#include "kernels/exact/exact.h"
#include "kernels/load.h"

enum { WIDE = 16 };

/* Channels from `first`, at most WIDE, of a tensor whose last extent is `channels`. */
struct block {
    int64_t rows;
    int64_t channels;
    int64_t first;
    int wide;
};

static struct block block_at(const struct hc_tensor *x, int64_t first)
{
    int64_t channels = x->shape[x->rank - 1];
    int64_t left = channels - first;
    return (struct block){hc_tensor_count(x) / channels, channels, first,
                          left < WIDE ? (int)left : WIDE};
}

static float at(const struct hc_tensor *t, const struct block *b, int64_t row, int j)
{
    return hc_load(t->format, t->data, row * b->channels + b->first + j);
}

static void put(const struct hc_tensor *t, const struct block *b, int64_t row, int j, float value)
{
    hc_store(t->format, t->data, row * b->channels + b->first + j, value);
}

static void mean_and_squares(const struct hc_tensor *x, const struct block *b, float *mean,
                             float *squares)
{
    for (int j = 0; j < b->wide; j++)
        mean[j] = squares[j] = 0;
    for (int64_t i = 0; i < b->rows; i++)
        for (int j = 0; j < b->wide; j++)
            mean[j] += at(x, b, i, j);
    for (int j = 0; j < b->wide; j++)
        mean[j] /= (float)b->rows;
    for (int64_t i = 0; i < b->rows; i++)
        for (int j = 0; j < b->wide; j++) {
            float d = at(x, b, i, j) - mean[j];
            squares[j] += d * d;
        }
}

/* y = (x - mean) * invstd * gamma + beta, from left to right. */
static void normalize(const struct hc_call *call, const struct block *b, const float *mean,
                      const float *invstd)
{
    for (int64_t i = 0; i < b->rows; i++)
        for (int j = 0; j < b->wide; j++) {
            float xhat = (at(&call->in[0], b, i, j) - mean[j]) * invstd[j];
            float scaled = xhat * at(&call->in[1], b, 0, j);
            put(&call->out[0], b, i, j, scaled + at(&call->in[2], b, 0, j));
        }
}

static void run_on(const struct hc_tensor *from, const struct hc_tensor *to, const struct block *b,
                   float momentum, const float *batch)
{
    for (int j = 0; j < b->wide; j++) {
        float r = at(from, b, 0, j);
        put(to, b, 0, j, r + momentum * (batch[j] - r));
    }
}

enum hc_status hc_exact_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[0];
    float eps = (float)call->params.bn.eps;
    float momentum = (float)call->params.bn.momentum;
    for (int64_t first = 0; first < x->shape[x->rank - 1]; first += WIDE) {
        struct block b = block_at(x, first);
        float mean[WIDE];
        float squares[WIDE];
        float invstd[WIDE];
        float unbiased[WIDE];
        mean_and_squares(x, &b, mean, squares);
        for (int j = 0; j < b.wide; j++) {
            invstd[j] = 1 / sqrtf(squares[j] / (float)b.rows + eps);
            unbiased[j] = squares[j] / (float)(b.rows > 1 ? b.rows - 1 : b.rows);
            put(&call->out[1], &b, 0, j, mean[j]);
            put(&call->out[2], &b, 0, j, invstd[j]);
        }
        run_on(&call->in[3], &call->out[3], &b, momentum, mean);
        run_on(&call->in[4], &call->out[4], &b, momentum, unbiased);
        normalize(call, &b, mean, invstd);
    }
    return HC_OK;
}

enum hc_status hc_exact_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[0];
    float eps = (float)call->params.bn.eps;
    for (int64_t first = 0; first < x->shape[x->rank - 1]; first += WIDE) {
        struct block b = block_at(x, first);
        float mean[WIDE];
        float invstd[WIDE];
        for (int j = 0; j < b.wide; j++) {
            mean[j] = at(&call->in[3], &b, 0, j);
            invstd[j] = 1 / sqrtf(at(&call->in[4], &b, 0, j) + eps);
        }
        normalize(call, &b, mean, invstd);
    }
    return HC_OK;
}

struct gradient {
    float mean[WIDE];
    float invstd[WIDE];
    float dbeta[WIDE];
    float dgamma[WIDE];
};

static void sum_gradients(const struct hc_call *call, const struct block *b, struct gradient *g)
{
    for (int j = 0; j < b->wide; j++) {
        g->mean[j] = at(&call->in[3], b, 0, j);
        g->invstd[j] = at(&call->in[4], b, 0, j);
        g->dbeta[j] = g->dgamma[j] = 0;
    }
    for (int64_t i = 0; i < b->rows; i++)
        for (int j = 0; j < b->wide; j++) {
            float dy = at(&call->in[1], b, i, j);
            float xhat = (at(&call->in[0], b, i, j) - g->mean[j]) * g->invstd[j];
            g->dbeta[j] += dy;
            g->dgamma[j] += dy * xhat;
        }
}

/* dx = (gamma * invstd) * ((dy - dbeta / M) - xhat * (dgamma / M)), on the sums before these are
   rounded into their outputs. */
static void gradient_of_x(const struct hc_call *call, const struct block *b,
                          const struct gradient *g)
{
    float m = (float)b->rows;
    for (int64_t i = 0; i < b->rows; i++)
        for (int j = 0; j < b->wide; j++) {
            float xhat = (at(&call->in[0], b, i, j) - g->mean[j]) * g->invstd[j];
            float centred = at(&call->in[1], b, i, j) - g->dbeta[j] / m;
            float gain = at(&call->in[2], b, 0, j) * g->invstd[j];
            put(&call->out[0], b, i, j, gain * (centred - xhat * (g->dgamma[j] / m)));
        }
}

enum hc_status hc_exact_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[0];
    for (int64_t first = 0; first < x->shape[x->rank - 1]; first += WIDE) {
        struct block b = block_at(x, first);
        struct gradient g;
        sum_gradients(call, &b, &g);
        gradient_of_x(call, &b, &g);
        for (int j = 0; j < b.wide; j++) {
            put(&call->out[1], &b, 0, j, g.dgamma[j]);
            put(&call->out[2], &b, 0, j, g.dbeta[j]);
        }
    }
    return HC_OK;
}
