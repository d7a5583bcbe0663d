/* Softmax cross-entropy with the row's maximum subtracted, fp32, sums in order; expf and logf are
   the C library's. */
#include <math.h>

#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/element/load.h"

/* Largest logit of the row (of those that are not NaN; a NaN comes back through the sum), and the
   sum of exp(z - max). */
static void softmax_sum(const struct hc_tensor *z, int64_t row, float *max, float *sum)
{
    int64_t classes = z->shape[1];
    *max = -INFINITY;
    *sum = 0;
    for (int64_t j = 0; j < classes; j++)
        *max = fmaxf(*max, hc_load(z->format, z->data, row * classes + j));
    for (int64_t j = 0; j < classes; j++)
        *sum += expf(hc_load(z->format, z->data, row * classes + j) - *max);
}

/* Whether the row's largest logit is at the label: the first of equals, no NaN. */
static bool is_right(const struct hc_tensor *z, int64_t row, int32_t label)
{
    int64_t classes = z->shape[1];
    float at = hc_load(z->format, z->data, row * classes + label);
    bool right = !isnan(at);
    for (int64_t j = 0; j < classes; j++) {
        float other = hc_load(z->format, z->data, row * classes + j);
        right &= !(other > at) && !(j < label && other == at);
    }
    return right;
}

enum hc_status hc_exact_xent(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_xent(call);
    const struct hc_tensor *z = &call->in[0];
    const int32_t *label = call->in[1].data;
    int64_t rows = z->shape[0];
    float loss = 0;
    int64_t right = 0;
    for (int64_t i = 0; i < rows; i++) {
        float max;
        float sum;
        softmax_sum(z, i, &max, &sum);
        loss += logf(sum) - (hc_load(z->format, z->data, i * z->shape[1] + label[i]) - max);
        right += is_right(z, i, label[i]);
    }
    *(float *)call->out[0].data = call->params.xent.sum ? loss : loss / (float)rows;
    if (call->out[1].data)
        *(float *)call->out[1].data = (float)right;
    return HC_OK;
}

enum hc_status hc_exact_xent_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_xent_bwd(call);
    const struct hc_tensor *z = &call->in[0];
    const struct hc_tensor *dz = &call->out[0];
    const int32_t *label = call->in[1].data;
    float upstream = *(const float *)call->in[2].data;
    int64_t rows = z->shape[0];
    int64_t classes = z->shape[1];
    float count = call->params.xent.sum ? 1 : (float)rows;
    for (int64_t i = 0; i < rows; i++) {
        float max;
        float sum;
        softmax_sum(z, i, &max, &sum);
        for (int64_t j = 0; j < classes; j++) {
            int64_t at = i * classes + j;
            float p = expf(hc_load(z->format, z->data, at) - max) / sum;
            float off = p - (j == label[i] ? 1.0f : 0.0f);
            hc_store(dz->format, dz->data, at, off * upstream / count);
        }
    }
    return HC_OK;
}
