#include "kernels/arithmetic.h"

#include "kernels/exact/exact.h"
#include "kernels/load.h"

static enum hc_status binary(const struct hc_call *call, float (*element)(float, float))
{
    enum hc_format format = call->out[0].format;
    if (!hc_is_h(format))
        return hc_fail(HC_UNSUPPORTED, "exact: no %s in %s", hc_ops[call->op].name,
                       hc_formats[format].name);
    int64_t n = hc_tensor_count(&call->out[0]);
    for (int64_t i = 0; i < n; i++)
        hc_store(format, call->out[0].data, i,
                 element(hc_load(format, call->in[0].data, i),
                         hc_load(format, call->in[1].data, i)));
    return HC_OK;
}

enum hc_status hc_exact_add(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_add);
}

enum hc_status hc_exact_sub(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_sub);
}

enum hc_status hc_exact_mul(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_mul);
}

enum hc_status hc_exact_div(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_div);
}
