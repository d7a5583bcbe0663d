/* Batch norm, forward, with and without leaky ReLU. */
#include "kernels/cuda/kernel/norm.h"

#include "kernels/cuda/op/norm_tiling.h"

static enum hc_status normalize(struct hc_queue *queue, const struct hc_call *call,
                                const struct hc_tensor *mean, const struct hc_tensor *spread,
                                bool variance, bool leaky)
{
    const struct hc_tensor *const data[] = {&call->in[0], &call->out[0], NULL};
    struct hc_dk_bn_normalize a = {.rows = hc_cuda_norm_tiling(&call->in[0], HC_CUDA_BLOCKS, data),
                                   .x = hc_dk_view_of(&call->in[0]),
                                   .gamma = hc_dk_view_of(&call->in[1]),
                                   .beta = hc_dk_view_of(&call->in[2]),
                                   .mean = hc_dk_view_of(mean),
                                   .invstd = hc_dk_view_of(spread),
                                   .y = hc_dk_view_of(&call->out[0]),
                                   .eps = (float)call->params.bn.eps,
                                   .slope = (float)call->params.bn.slope,
                                   .variance = variance,
                                   .leaky = leaky};
    return hc_cuda_norm_launch(queue, HC_DK_bn_normalize, &a.rows, false, &a, sizeof a);
}

static enum hc_status train(struct hc_queue *queue, const struct hc_call *call, bool leaky)
{
    const struct hc_tensor *const data[] = {&call->in[0], NULL};
    struct hc_dk_bn_moments moments = {
        .rows = hc_cuda_norm_tiling(&call->in[0], HC_CUDA_NORM_SLICES, data),
        .x = hc_dk_view_of(&call->in[0]),
        .sums = call->scratch};
    struct hc_dk_bn_statistics statistics = {.rows = moments.rows,
                                             .x = moments.x,
                                             .sums = moments.sums,
                                             .mean_in = hc_dk_view_of(&call->in[3]),
                                             .variance_in = hc_dk_view_of(&call->in[4]),
                                             .mean_out = hc_dk_view_of(&call->out[3]),
                                             .variance_out = hc_dk_view_of(&call->out[4]),
                                             .saved_mean = call->out[1].data,
                                             .saved_invstd = call->out[2].data,
                                             .eps = (float)call->params.bn.eps,
                                             .momentum = (float)call->params.bn.momentum};
    enum hc_status status =
        hc_cuda_norm_launch(queue, HC_DK_bn_moments, &moments.rows, true, &moments, sizeof moments);
    if (status == HC_OK)
        status = hc_cuda_norm_add_slices(queue, HC_DK_bn_statistics, &moments.rows, &statistics,
                                         sizeof statistics);
    return status == HC_OK ? normalize(queue, call, &call->out[1], &call->out[2], false, leaky)
                           : status;
}

enum hc_status hc_cuda_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    return train(queue, call, false);
}

enum hc_status hc_cuda_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    return normalize(queue, call, &call->in[3], &call->in[4], true, false);
}

enum hc_status hc_cuda_bn_leaky_train(struct hc_queue *queue, const struct hc_call *call)
{
    return train(queue, call, true);
}

enum hc_status hc_cuda_bn_leaky_infer(struct hc_queue *queue, const struct hc_call *call)
{
    return normalize(queue, call, &call->in[3], &call->in[4], true, true);
}
