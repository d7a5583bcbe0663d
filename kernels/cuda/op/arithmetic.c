#include "kernels/cuda/kernel/arithmetic.h"

#include "kernels/cuda/op/wrapper.h"

static enum hc_status arithmetic(struct hc_queue *queue, const struct hc_call *call)
{
    int inputs = hc_ops[call->op].inputs;
    struct hc_dk_arithmetic a = {.op = call->op,
                                 .format = call->out[0].format,
                                 .x = call->in[0].data,
                                 .y = inputs > 1 ? call->in[1].data : NULL,
                                 .z = inputs > 2 ? call->in[2].data : NULL,
                                 .out = call->out[0].data,
                                 .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_arithmetic, a.n, &a, sizeof a);
}

enum hc_status hc_cuda_add(struct hc_queue *queue, const struct hc_call *call)
{
    return arithmetic(queue, call);
}

enum hc_status hc_cuda_sub(struct hc_queue *queue, const struct hc_call *call)
{
    return arithmetic(queue, call);
}

enum hc_status hc_cuda_mul(struct hc_queue *queue, const struct hc_call *call)
{
    return arithmetic(queue, call);
}

enum hc_status hc_cuda_div(struct hc_queue *queue, const struct hc_call *call)
{
    return arithmetic(queue, call);
}

enum hc_status hc_cuda_sqrt(struct hc_queue *queue, const struct hc_call *call)
{
    return arithmetic(queue, call);
}

enum hc_status hc_cuda_fma(struct hc_queue *queue, const struct hc_call *call)
{
    return arithmetic(queue, call);
}
