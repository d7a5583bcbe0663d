#include "kernels/cuda/cuda.h"
#include "kernels/cuda/op/families.h"
#include "kernels/cuda/library/handles.h"

size_t hc_cuda_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    switch (call->op) {
    case HC_OP_sum:
    case HC_OP_dot:
    case HC_OP_sum_squares:
        return hc_cuda_reduction_scratch(call);
    case HC_OP_bn_train:
    case HC_OP_bn_bwd:
    case HC_OP_bn_leaky_train:
    case HC_OP_bn_leaky_bwd:
    case HC_OP_bn_moments:
    case HC_OP_bn_bwd_sums:
        return hc_cuda_norm_scratch(call);
    case HC_OP_xent:
        return hc_cuda_loss_scratch(call);
    case HC_OP_quantize:
        return hc_cuda_quantize_scratch(call);
    case HC_OP_gemm:
        return hc_cuda_gemm_scratch(call);
    case HC_OP_conv2d:
    case HC_OP_conv2d_bwd_data:
    case HC_OP_conv2d_bwd_filter:
        return hc_cuda_conv_scratch(queue->libraries, call);
    default:
        return hc_cuda_defined_scratch(call);
    }
}
