/* sum, dot and sum_squares, in the order 0, 1, 2, ... for every accumulator. */
#include "kernels/element/load.h"
#include "kernels/element/round.h"
#include "kernels/exact/exact.h"

enum hc_status hc_exact_sum(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[HC_REDUCE_X];
    enum hc_format f = call->params.reduce.accumulator;
    int64_t n = hc_tensor_count(x);
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = hc_into(f, sum + hc_load(x->format, x->data, i));
    hc_store(call->out[HC_REDUCE_OUT].format, call->out[HC_REDUCE_OUT].data, 0, sum);
    return HC_OK;
}

enum hc_status hc_exact_dot(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[HC_REDUCE_X];
    const struct hc_tensor *y = &call->in[HC_DOT_Y];
    enum hc_format f = call->params.reduce.accumulator;
    int64_t n = hc_tensor_count(x);
    float sum = 0;
    for (int64_t i = 0; i < n; i++) {
        float product = hc_load(x->format, x->data, i) * hc_load(y->format, y->data, i);
        sum = hc_into(f, sum + hc_into(f, product));
    }
    hc_store(call->out[HC_REDUCE_OUT].format, call->out[HC_REDUCE_OUT].data, 0, sum);
    return HC_OK;
}

enum hc_status hc_exact_sum_squares(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[HC_REDUCE_X];
    const float *partial = call->in[HC_SUM_SQUARES_PARTIAL].data;
    int64_t n = hc_tensor_count(x);
    float sum = 0;
    for (int64_t i = 0; i < n; i++) {
        float value = hc_load(x->format, x->data, i);
        sum += value * value;
    }
    *(float *)call->out[HC_REDUCE_OUT].data = partial ? *partial + sum : sum;
    return HC_OK;
}
