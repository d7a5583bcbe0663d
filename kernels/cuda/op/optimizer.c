#include "kernels/cuda/kernel/optimizer.h"

#include "kernels/element/adam.h"
#include "kernels/cuda/op/wrapper.h"
#include "kernels/element/sgd.h"

enum hc_status hc_cuda_sgd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_sgd a = {.params = call->params.sgd,
                          .hyper = call->in[3].data,
                          .found = call->in[4].data,
                          .w = hc_dk_view_of(&call->in[0]),
                          .g = hc_dk_view_of(&call->in[1]),
                          .v = hc_dk_view_of(&call->in[2]),
                          .w_out = hc_dk_view_of(&call->out[0]),
                          .v_out = hc_dk_view_of(&call->out[1]),
                          .c = hc_dk_view_of(&call->in[5]),
                          .c_out = hc_dk_view_of(&call->out[2]),
                          .n = hc_tensor_count(&call->out[0])};
    int blocks = hc_blocks_for(a.n, HC_CUDA_THREADS, HC_CUDA_BLOCKS);
    return hc_launch(queue, HC_DK_sgd, blocks, HC_CUDA_THREADS, sizeof(struct hc_sgd_step), &a,
                     sizeof a);
}

static enum hc_status adam(struct hc_queue *queue, const struct hc_call *call, bool decoupled)
{
    struct hc_dk_adam a = {.params = call->params.adam,
                           .decoupled = decoupled,
                           .hyper = call->in[4].data,
                           .found = call->in[5].data,
                           .w = hc_dk_view_of(&call->in[0]),
                           .g = hc_dk_view_of(&call->in[1]),
                           .m = hc_dk_view_of(&call->in[2]),
                           .v = hc_dk_view_of(&call->in[3]),
                           .w_out = hc_dk_view_of(&call->out[0]),
                           .m_out = hc_dk_view_of(&call->out[1]),
                           .v_out = hc_dk_view_of(&call->out[2]),
                           .c = hc_dk_view_of(&call->in[6]),
                           .c_out = hc_dk_view_of(&call->out[3]),
                           .n = hc_tensor_count(&call->out[0])};
    int blocks = hc_blocks_for(a.n, HC_CUDA_THREADS, HC_CUDA_BLOCKS);
    return hc_launch(queue, HC_DK_adam, blocks, HC_CUDA_THREADS, sizeof(struct hc_adam_step), &a,
                     sizeof a);
}

enum hc_status hc_cuda_adam(struct hc_queue *queue, const struct hc_call *call)
{
    return adam(queue, call, false);
}

enum hc_status hc_cuda_adamw(struct hc_queue *queue, const struct hc_call *call)
{
    return adam(queue, call, true);
}
