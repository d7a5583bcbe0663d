#include "kernels/exact/double.h"
#include "kernels/element/leaky.h"

#include "kernels/exact/exact.h"
#include "kernels/exact/block.h"

/* The loops between reading and writing have no branch and a fixed length. */
static int64_t length(int64_t n, int64_t first)
{
    return n - first < HC_ELEMENT_BLOCK ? n - first : HC_ELEMENT_BLOCK;
}

enum hc_status hc_exact_leaky_relu(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_leaky(call);
    float slope = (float)call->params.leaky.slope;
    int64_t n = hc_tensor_count(&call->out[0]);
    float x[HC_ELEMENT_BLOCK] = {0};
    for (int64_t i = 0; i < n; i += HC_ELEMENT_BLOCK) {
        hc_load_block(&call->in[0], i, length(n, i), x);
        for (int j = 0; j < HC_ELEMENT_BLOCK; j++)
            x[j] = hc_element_leaky_relu(slope, x[j]);
        hc_store_block(&call->out[0], i, length(n, i), x);
    }
    return HC_OK;
}

enum hc_status hc_exact_leaky_relu_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    if (hc_is_double(call))
        return hc_double_leaky_bwd(call);
    float slope = (float)call->params.leaky.slope;
    int64_t n = hc_tensor_count(&call->out[0]);
    float y[HC_ELEMENT_BLOCK] = {0};
    float dy[HC_ELEMENT_BLOCK] = {0};
    for (int64_t i = 0; i < n; i += HC_ELEMENT_BLOCK) {
        hc_load_block(&call->in[0], i, length(n, i), y);
        hc_load_block(&call->in[1], i, length(n, i), dy);
        for (int j = 0; j < HC_ELEMENT_BLOCK; j++)
            dy[j] = hc_element_leaky_relu_bwd(slope, y[j], dy[j]);
        hc_store_block(&call->out[0], i, length(n, i), dy);
    }
    return HC_OK;
}
