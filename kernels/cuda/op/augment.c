#include "kernels/cuda/kernel/augment.h"

#include "kernels/cuda/op/wrapper.h"

enum hc_status hc_cuda_augment(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *pixels = &call->in[0];
    const struct hc_tensor *order = &call->in[3];
    struct hc_dk_augment a = {.params = call->params.augment,
                              .pixels = pixels->data,
                              .labels = call->in[1].data,
                              .steps = call->in[2].data,
                              .order = order->data,
                              .length = order->data ? hc_tensor_count(order) : pixels->shape[0],
                              .batch = call->out[0].shape[0],
                              .high = pixels->shape[1],
                              .wide = pixels->shape[2],
                              .images = hc_dk_view_of(&call->out[0]),
                              .labels_out = call->out[1].data};
    struct hc_dk_advance next = {.from = call->in[2].data, .to = call->out[2].data};
    enum hc_status status =
        hc_cuda_launch_elements(queue, HC_DK_augment, a.batch * a.high * a.wide, &a, sizeof a);
    if (status != HC_OK || !next.to)
        return status;
    return hc_launch(queue, HC_DK_advance, 1, 1, 0, &next, sizeof next);
}
