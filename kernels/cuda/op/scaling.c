#include "kernels/cuda/kernel/scaling.h"

#include "kernels/cuda/op/wrapper.h"

enum hc_status hc_cuda_axpy(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_axpy a = {.alpha = (float)call->params.axpy.alpha,
                           .x = hc_dk_view_of(&call->in[0]),
                           .y = hc_dk_view_of(&call->in[1]),
                           .out = hc_dk_view_of(&call->out[0]),
                           .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_axpy, a.n, &a, sizeof a);
}

enum hc_status hc_cuda_scale(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_scale a = {.x = hc_dk_view_of(&call->in[0]),
                            .s = call->in[1].data,
                            .out = hc_dk_view_of(&call->out[0]),
                            .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_scale, a.n, &a, sizeof a);
}

enum hc_status hc_cuda_unscale(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_found before = {.from = call->in[2].data, .to = call->out[1].data};
    struct hc_dk_unscale a = {.reciprocal = call->params.unscale.reciprocal,
                              .x = hc_dk_view_of(&call->in[0]),
                              .s = call->in[1].data,
                              .out = hc_dk_view_of(&call->out[0]),
                              .before = call->in[2].data,
                              .override = call->in[3].data,
                              .found = call->out[1].data,
                              .n = hc_tensor_count(&call->out[0])};
    enum hc_status status = hc_launch(queue, HC_DK_found, 1, 1, 0, &before, sizeof before);
    return status == HC_OK ? hc_cuda_launch_elements(queue, HC_DK_unscale, a.n, &a, sizeof a)
                           : status;
}

enum hc_status hc_cuda_leaky_relu(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_leaky_relu a = {.slope = (float)call->params.leaky.slope,
                                 .x = hc_dk_view_of(&call->in[0]),
                                 .out = hc_dk_view_of(&call->out[0]),
                                 .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_leaky_relu, a.n, &a, sizeof a);
}

enum hc_status hc_cuda_leaky_relu_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_leaky_relu_bwd a = {.slope = (float)call->params.leaky.slope,
                                     .y = hc_dk_view_of(&call->in[0]),
                                     .dy = hc_dk_view_of(&call->in[1]),
                                     .out = hc_dk_view_of(&call->out[0]),
                                     .n = hc_tensor_count(&call->out[0])};
    return hc_cuda_launch_elements(queue, HC_DK_leaky_relu_bwd, a.n, &a, sizeof a);
}
