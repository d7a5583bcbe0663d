/* Batch norm, 16 channels at a time; sums run over the rows (n, h, w) in order, in fp32. */
#include <math.h>
#include <string.h>

#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/exact/block.h"

/* Channels from `first`, at most HC_CHANNEL_BLOCK, of tensors whose last extent is `channels`. All
   arithmetic runs over HC_CHANNEL_BLOCK lanes; those past the last channel hold zeros and are not
   stored. */
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
                          left < HC_CHANNEL_BLOCK ? (int)left : HC_CHANNEL_BLOCK};
}

static void load(const struct hc_tensor *t, const struct block *b, int64_t row, float *to)
{
    for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
        to[j] = 0;
    hc_load_block(t, row * b->channels + b->first, b->wide, to);
}

static void store(const struct hc_tensor *t, const struct block *b, int64_t row, const float *from)
{
    hc_store_block(t, row * b->channels + b->first, b->wide, from);
}

static void mean_and_squares(const struct hc_tensor *x, const struct block *b, float *mean,
                             float *squares)
{
    float row[HC_CHANNEL_BLOCK];
    float sum[HC_CHANNEL_BLOCK] = {0};
    float sum2[HC_CHANNEL_BLOCK] = {0};
    for (int64_t i = 0; i < b->rows; i++) {
        load(x, b, i, row);
        for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
            sum[j] += row[j];
    }
    for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
        mean[j] = sum[j] / (float)b->rows;
    for (int64_t i = 0; i < b->rows; i++) {
        load(x, b, i, row);
        for (int j = 0; j < HC_CHANNEL_BLOCK; j++) {
            float d = row[j] - mean[j];
            sum2[j] += d * d;
        }
    }
    memcpy(squares, sum2, sizeof sum2);
}

/* y = (x - mean) * invstd * gamma + beta, from left to right. */
static void normalize(const struct hc_call *call, const struct block *b, const float *mean,
                      const float *invstd)
{
    float gamma[HC_CHANNEL_BLOCK];
    float beta[HC_CHANNEL_BLOCK];
    load(&call->in[1], b, 0, gamma);
    load(&call->in[2], b, 0, beta);
    for (int64_t i = 0; i < b->rows; i++) {
        float row[HC_CHANNEL_BLOCK];
        load(&call->in[0], b, i, row);
        for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
            row[j] = (row[j] - mean[j]) * invstd[j] * gamma[j] + beta[j];
        store(&call->out[0], b, i, row);
    }
}

static void run_on(const struct hc_tensor *from, const struct hc_tensor *to, const struct block *b,
                   float momentum, const float *batch)
{
    float r[HC_CHANNEL_BLOCK];
    load(from, b, 0, r);
    for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
        r[j] += momentum * (batch[j] - r[j]);
    store(to, b, 0, r);
}

enum hc_status hc_exact_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_bn_train(call);
    const struct hc_tensor *x = &call->in[0];
    float eps = (float)call->params.bn.eps;
    float momentum = (float)call->params.bn.momentum;
    for (int64_t first = 0; first < x->shape[x->rank - 1]; first += HC_CHANNEL_BLOCK) {
        struct block b = block_at(x, first);
        float mean[HC_CHANNEL_BLOCK];
        float squares[HC_CHANNEL_BLOCK];
        float invstd[HC_CHANNEL_BLOCK];
        float unbiased[HC_CHANNEL_BLOCK];
        mean_and_squares(x, &b, mean, squares);
        for (int j = 0; j < HC_CHANNEL_BLOCK; j++) {
            invstd[j] = 1 / sqrtf(squares[j] / (float)b.rows + eps);
            unbiased[j] = squares[j] / (float)(b.rows > 1 ? b.rows - 1 : b.rows);
        }
        store(&call->out[1], &b, 0, mean);
        store(&call->out[2], &b, 0, invstd);
        run_on(&call->in[3], &call->out[3], &b, momentum, mean);
        run_on(&call->in[4], &call->out[4], &b, momentum, unbiased);
        normalize(call, &b, mean, invstd);
    }
    return HC_OK;
}

enum hc_status hc_exact_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_bn_infer(call);
    const struct hc_tensor *x = &call->in[0];
    float eps = (float)call->params.bn.eps;
    for (int64_t first = 0; first < x->shape[x->rank - 1]; first += HC_CHANNEL_BLOCK) {
        struct block b = block_at(x, first);
        float mean[HC_CHANNEL_BLOCK];
        float invstd[HC_CHANNEL_BLOCK];
        load(&call->in[3], &b, 0, mean);
        load(&call->in[4], &b, 0, invstd);
        for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
            invstd[j] = 1 / sqrtf(invstd[j] + eps);
        normalize(call, &b, mean, invstd);
    }
    return HC_OK;
}

/* Row i of dy and of xhat. */
static void gradient_row(const struct hc_call *call, const struct block *b, int64_t i,
                         const float *mean, const float *invstd, float *dy, float *xhat)
{
    load(&call->in[1], b, i, dy);
    load(&call->in[0], b, i, xhat);
    for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
        xhat[j] = (xhat[j] - mean[j]) * invstd[j];
}

/* dx = (gamma * invstd) * ((dy - dbeta / M) - xhat * (dgamma / M)), on the sums before these are
   rounded into their outputs. */
static void gradients(const struct hc_call *call, const struct block *b)
{
    float mean[HC_CHANNEL_BLOCK];
    float invstd[HC_CHANNEL_BLOCK];
    float gain[HC_CHANNEL_BLOCK];
    float dy[HC_CHANNEL_BLOCK];
    float xhat[HC_CHANNEL_BLOCK];
    float dbeta[HC_CHANNEL_BLOCK] = {0};
    float dgamma[HC_CHANNEL_BLOCK] = {0};
    float m = (float)b->rows;
    load(&call->in[2], b, 0, gain);
    load(&call->in[3], b, 0, mean);
    load(&call->in[4], b, 0, invstd);
    for (int64_t i = 0; i < b->rows; i++) {
        gradient_row(call, b, i, mean, invstd, dy, xhat);
        for (int j = 0; j < HC_CHANNEL_BLOCK; j++) {
            dbeta[j] += dy[j];
            dgamma[j] += dy[j] * xhat[j];
        }
    }
    store(&call->out[1], b, 0, dgamma);
    store(&call->out[2], b, 0, dbeta);
    for (int j = 0; j < HC_CHANNEL_BLOCK; j++) {
        gain[j] *= invstd[j];
        dbeta[j] /= m;
        dgamma[j] /= m;
    }
    for (int64_t i = 0; i < b->rows; i++) {
        gradient_row(call, b, i, mean, invstd, dy, xhat);
        for (int j = 0; j < HC_CHANNEL_BLOCK; j++)
            dy[j] = gain[j] * ((dy[j] - dbeta[j]) - xhat[j] * dgamma[j]);
        store(&call->out[0], b, i, dy);
    }
}

enum hc_status hc_exact_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_bn_bwd(call);
    const struct hc_tensor *x = &call->in[0];
    for (int64_t first = 0; first < x->shape[x->rank - 1]; first += HC_CHANNEL_BLOCK) {
        struct block b = block_at(x, first);
        gradients(call, &b);
    }
    return HC_OK;
}
