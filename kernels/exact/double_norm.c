/* Batch norm in fp64, a run of channels at a time; sums run over the rows (n, h, w) in order. */
#include <math.h>

#include "kernels/exact/double.h"
#include "kernels/exact/block.h"

struct rows {
    int64_t count;
    int64_t channels;
};

static struct rows rows_of(const struct hc_tensor *x)
{
    int64_t channels = x->shape[x->rank - 1];
    return (struct rows){channels ? hc_tensor_count(x) / channels : 0, channels};
}

static int64_t wide(const struct rows *r, int64_t first)
{
    return r->channels - first < HC_CHANNEL_BLOCK ? r->channels - first : HC_CHANNEL_BLOCK;
}

/* y = (x - mean) * invstd * gamma + beta, from left to right. */
static void normalize(const struct hc_call *call, const struct rows *r, int64_t first,
                      const double *mean, const double *invstd)
{
    const double *x = (const double *)call->in[0].data + first;
    const double *gamma = (const double *)call->in[1].data + first;
    const double *beta = (const double *)call->in[2].data + first;
    double *y = (double *)call->out[0].data + first;
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t j = 0; j < wide(r, first); j++) {
            int64_t at = i * r->channels + j;
            y[at] = (x[at] - mean[j]) * invstd[j] * gamma[j] + beta[j];
        }
}

static void moments(const double *x, const struct rows *r, int64_t n, double *mean, double *squares)
{
    double m = (double)r->count;
    for (int64_t j = 0; j < n; j++)
        mean[j] = squares[j] = 0;
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t j = 0; j < n; j++)
            mean[j] += x[i * r->channels + j];
    for (int64_t j = 0; j < n; j++)
        mean[j] /= m;
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t j = 0; j < n; j++) {
            double d = x[i * r->channels + j] - mean[j];
            squares[j] += d * d;
        }
}

static void train(const struct hc_call *call, const struct rows *r, int64_t first)
{
    const struct hc_bn *p = &call->params.bn;
    double momentum = (double)(float)p->momentum;
    double mean[HC_CHANNEL_BLOCK];
    double squares[HC_CHANNEL_BLOCK];
    double invstd[HC_CHANNEL_BLOCK];
    moments((const double *)call->in[0].data + first, r, wide(r, first), mean, squares);
    for (int64_t j = 0; j < wide(r, first); j++) {
        const double *running[2] = {call->in[3].data, call->in[4].data};
        double *out[4] = {call->out[1].data, call->out[2].data, call->out[3].data,
                          call->out[4].data};
        int64_t c = first + j;
        double unbiased = squares[j] / (double)(r->count > 1 ? r->count - 1 : r->count);
        invstd[j] = 1 / sqrt(squares[j] / (double)r->count + (double)(float)p->eps);
        out[0][c] = mean[j];
        out[1][c] = invstd[j];
        out[2][c] = running[0][c] + momentum * (mean[j] - running[0][c]);
        out[3][c] = running[1][c] + momentum * (unbiased - running[1][c]);
    }
    normalize(call, r, first, mean, invstd);
}

static void infer(const struct hc_call *call, const struct rows *r, int64_t first)
{
    const double *variance = (const double *)call->in[4].data + first;
    double invstd[HC_CHANNEL_BLOCK];
    for (int64_t j = 0; j < wide(r, first); j++)
        invstd[j] = 1 / sqrt(variance[j] + (double)(float)call->params.bn.eps);
    normalize(call, r, first, (const double *)call->in[3].data + first, invstd);
}

/* dx = (gamma * invstd) * ((dy - dbeta / M) - xhat * (dgamma / M)) */
static void gradients(const struct hc_call *call, const struct rows *r, int64_t first)
{
    const double *x = (const double *)call->in[0].data + first;
    const double *dy = (const double *)call->in[1].data + first;
    const double *gamma = (const double *)call->in[2].data + first;
    const double *mean = (const double *)call->in[3].data + first;
    const double *invstd = (const double *)call->in[4].data + first;
    double *dx = (double *)call->out[0].data + first;
    double *dgamma = (double *)call->out[1].data + first;
    double *dbeta = (double *)call->out[2].data + first;
    double m = (double)r->count;
    int64_t n = wide(r, first);
    for (int64_t j = 0; j < n; j++)
        dgamma[j] = dbeta[j] = 0;
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t at = i * r->channels + j;
            dbeta[j] += dy[at];
            dgamma[j] += dy[at] * ((x[at] - mean[j]) * invstd[j]);
        }
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t at = i * r->channels + j;
            double xhat = (x[at] - mean[j]) * invstd[j];
            dx[at] = gamma[j] * invstd[j] * ((dy[at] - dbeta[j] / m) - xhat * (dgamma[j] / m));
        }
}

static enum hc_status each_run(const struct hc_call *call,
                               void (*run)(const struct hc_call *call, const struct rows *r,
                                           int64_t first))
{
    struct rows r = rows_of(&call->in[0]);
    for (int64_t first = 0; first < r.channels; first += HC_CHANNEL_BLOCK)
        run(call, &r, first);
    return HC_OK;
}

enum hc_status hc_double_bn_train(const struct hc_call *call)
{
    return each_run(call, train);
}

enum hc_status hc_double_bn_infer(const struct hc_call *call)
{
    return each_run(call, infer);
}

enum hc_status hc_double_bn_bwd(const struct hc_call *call)
{
    return each_run(call, gradients);
}
