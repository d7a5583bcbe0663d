/* Batch norm in parts, where a batch is shared among ranks: the kernels of the whole batch, which
   end with their sums or begin with what all ranks have. */
#include "kernels/cuda/op/norm.h"

enum hc_status hc_cuda_bn_moments(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *const all[] = {&call->in[HC_BN_MOMENTS_X], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .variance = true,
                           .parts = true,
                           .mean = call->out[HC_BN_MOMENTS_MEAN],
                           .invstd = call->out[HC_BN_MOMENTS_VARIANCE]};
    return hc_cuda_norm_sums(queue, HC_DK_bn_moments, &a, all);
}

enum hc_status hc_cuda_bn_combine(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *mean = &call->out[HC_BN_COMBINE_SAVED_MEAN];
    return hc_launch_elements(queue, HC_DK_bn_combine, hc_tensor_count(mean), call, sizeof *call);
}

enum hc_status hc_cuda_bn_bwd_sums(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *dy = &call->in[HC_BN_BWD_SUMS_DY];
    const struct hc_tensor *const all[] = {&call->in[HC_BN_BWD_SUMS_X], dy, NULL};
    struct hc_dk_norm a = {.call = *call,
                           .parts = true,
                           .mean = call->in[HC_BN_BWD_SUMS_MEAN],
                           .invstd = call->in[HC_BN_BWD_SUMS_INVSTD],
                           .dy = *dy,
                           .dgamma = call->out[HC_BN_BWD_SUMS_DGAMMA],
                           .dbeta = call->out[HC_BN_BWD_SUMS_DBETA]};
    return hc_cuda_norm_sums(queue, HC_DK_bn_bwd_sums, &a, all);
}

enum hc_status hc_cuda_bn_bwd_apply(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *dy = &call->in[HC_BN_BWD_APPLY_DY];
    const struct hc_tensor *const all[] = {&call->in[HC_BN_BWD_APPLY_X], dy,
                                           &call->out[HC_BN_BWD_APPLY_DX], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .parts = true,
                           .mean = call->in[HC_BN_BWD_APPLY_MEAN],
                           .invstd = call->in[HC_BN_BWD_APPLY_INVSTD],
                           .gamma = call->in[HC_BN_BWD_APPLY_GAMMA],
                           .dy = *dy,
                           .dgamma = call->in[HC_BN_BWD_APPLY_MEAN_DGAMMA],
                           .dbeta = call->in[HC_BN_BWD_APPLY_MEAN_DBETA]};
    return hc_cuda_norm_elements(queue, HC_DK_bn_bwd, &a, all);
}
