/* Leaky ReLU, average pooling and softmax cross-entropy in fp64; exp and log are the C library's. */
#include <math.h>

#include "kernels/exact/double.h"

enum hc_status hc_double_leaky(const struct hc_call *call)
{
    const double *x = call->in[0].data;
    double *y = call->out[0].data;
    double slope = (double)(float)call->params.leaky.slope;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++)
        y[i] = x[i] > 0 ? x[i] : slope * x[i];
    return HC_OK;
}

enum hc_status hc_double_leaky_bwd(const struct hc_call *call)
{
    const double *y = call->in[0].data;
    const double *dy = call->in[1].data;
    double *dx = call->out[0].data;
    double slope = (double)(float)call->params.leaky.slope;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++)
        dx[i] = y[i] > 0 ? dy[i] : slope * dy[i];
    return HC_OK;
}

/* The element of [n, h / window, w / window, c] under element i of [n, h, w, c]. */
static int64_t pooled(const struct hc_tensor *x, int64_t window, int64_t i)
{
    int64_t channels = x->shape[3];
    int64_t pixel = i / channels;
    int64_t row = pixel / x->shape[2] / window;
    return (row * (x->shape[2] / window) + pixel % x->shape[2] / window) * channels + i % channels;
}

enum hc_status hc_double_pool(const struct hc_call *call)
{
    const double *x = call->in[0].data;
    double *y = call->out[0].data;
    int64_t window = call->params.pool.window;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++)
        y[i] = 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[0]); i++)
        y[pooled(&call->in[0], window, i)] += x[i];
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++)
        y[i] /= (double)(window * window);
    return HC_OK;
}

enum hc_status hc_double_pool_bwd(const struct hc_call *call)
{
    const double *dy = call->in[0].data;
    double *dx = call->out[0].data;
    int64_t window = call->params.pool.window;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++)
        dx[i] = dy[pooled(&call->out[0], window, i)] / (double)(window * window);
    return HC_OK;
}

static void softmax_sum(const double *z, int64_t classes, double *most, double *sum)
{
    *most = -INFINITY;
    *sum = 0;
    for (int64_t j = 0; j < classes; j++)
        *most = fmax(*most, z[j]);
    for (int64_t j = 0; j < classes; j++)
        *sum += exp(z[j] - *most);
}

/* The first of the largest is at the label, which is no NaN. */
static bool is_right(const double *z, int64_t classes, int32_t label)
{
    bool right = !isnan(z[label]);
    for (int64_t j = 0; j < classes; j++)
        right &= !(z[j] > z[label]) && !(j < label && z[j] == z[label]);
    return right;
}

enum hc_status hc_double_xent(const struct hc_call *call)
{
    const double *z = call->in[0].data;
    const int32_t *label = call->in[1].data;
    int64_t rows = call->in[0].shape[0];
    int64_t classes = call->in[0].shape[1];
    double loss = 0;
    double right = 0;
    for (int64_t i = 0; i < rows; i++, z += classes) {
        double most;
        double sum;
        softmax_sum(z, classes, &most, &sum);
        loss += log(sum) - (z[label[i]] - most);
        right += is_right(z, classes, label[i]);
    }
    *(double *)call->out[0].data = call->params.xent.sum ? loss : loss / (double)rows;
    if (call->out[1].data)
        *(double *)call->out[1].data = right;
    return HC_OK;
}

enum hc_status hc_double_xent_bwd(const struct hc_call *call)
{
    const double *z = call->in[0].data;
    const int32_t *label = call->in[1].data;
    double upstream = *(const double *)call->in[2].data;
    double *dz = call->out[0].data;
    int64_t rows = call->in[0].shape[0];
    int64_t classes = call->in[0].shape[1];
    double count = call->params.xent.sum ? 1 : (double)rows;
    for (int64_t i = 0; i < rows; i++, z += classes, dz += classes) {
        double most;
        double sum;
        softmax_sum(z, classes, &most, &sum);
        for (int64_t j = 0; j < classes; j++) {
            double p = exp(z[j] - most) / sum;
            dz[j] = (p - (j == label[i] ? 1 : 0)) * upstream / count;
        }
    }
    return HC_OK;
}
