#include "kernels/leaky.h"

#include "kernels/exact/exact.h"
#include "kernels/load.h"

enum hc_status hc_exact_leaky_relu(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[0];
    const struct hc_tensor *out = &call->out[0];
    float slope = (float)call->params.leaky.slope;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++)
        hc_store(out->format, out->data, i,
                 hc_element_leaky_relu(slope, hc_load(x->format, x->data, i)));
    return HC_OK;
}

enum hc_status hc_exact_leaky_relu_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *y = &call->in[0];
    const struct hc_tensor *dy = &call->in[1];
    const struct hc_tensor *out = &call->out[0];
    float slope = (float)call->params.leaky.slope;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++)
        hc_store(out->format, out->data, i,
                 hc_element_leaky_relu_bwd(slope, hc_load(y->format, y->data, i),
                                           hc_load(dy->format, dy->data, i)));
    return HC_OK;
}
