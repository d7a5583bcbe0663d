#include "kernels/cuda/kernel/cast.h"

#include "kernels/cuda/op/wrapper.h"
#include "kernels/element/load.h"

static enum hc_status among_h(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_cast a = {.from = hc_dk_view_of(&call->in[0]),
                           .to = hc_dk_view_of(&call->out[0]),
                           .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_cast, a.n, &a, sizeof a);
}

static enum hc_status directed(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_cast_directed a = {.from = call->in[0].data,
                                    .format = call->out[0].format,
                                    .to = call->out[0].data,
                                    .direction = call->params.cast.direction,
                                    .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_cast_directed, a.n, &a, sizeof a);
}

static enum hc_status any(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_cast_any a = {.from_format = hc_formats[call->in[0].format],
                               .to_format = hc_formats[call->out[0].format],
                               .from = call->in[0].data,
                               .to = call->out[0].data,
                               .direction = call->params.cast.direction,
                               .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_cast_any, a.n, &a, sizeof a);
}

enum hc_status hc_cuda_cast(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_format from = call->in[0].format;
    enum hc_format to = call->out[0].format;
    if (call->params.cast.direction == HC_NEAREST && hc_is_h(from) && hc_is_h(to))
        return among_h(queue, call);
    if (from == HC_FP32 && (to == HC_FP16 || to == HC_BF16))
        return directed(queue, call);
    return any(queue, call);
}

enum hc_status hc_cuda_master_to_model(struct hc_queue *queue, const struct hc_call *call)
{
    return among_h(queue, call);
}
