#include "kernels/cuda/families.h"

size_t hc_cuda_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    switch (call->op) {
    case HC_OP_sum:
    case HC_OP_dot:
        return hc_cuda_reduce_scratch(call);
    case HC_OP_bn_train:
    case HC_OP_bn_bwd:
        return hc_cuda_norm_scratch(call);
    case HC_OP_xent:
        return hc_cuda_loss_scratch(call);
    default:
        return 0;
    }
}
