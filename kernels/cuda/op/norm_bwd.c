/* Batch norm, gradients, with and without leaky ReLU. */
#include "kernels/cuda/kernel/norm_bwd.h"

#include "kernels/cuda/op/norm_tiling.h"

/* The slot of dy: with leaky ReLU it stands behind y, and always before gamma, mean and invstd. */
static const struct hc_tensor *dy_of(const struct hc_call *call, bool leaky)
{
    return &call->in[leaky ? 2 : 1];
}

static struct hc_dk_gradient gradient(const struct hc_call *call, bool leaky,
                                      struct hc_dk_tiling rows)
{
    const struct hc_tensor *dy = dy_of(call, leaky);
    struct hc_dk_gradient g = {.rows = rows,
                               .x = hc_dk_view_of(&call->in[0]),
                               .dy = hc_dk_view_of(dy),
                               .mean = hc_dk_view_of(dy + 2),
                               .invstd = hc_dk_view_of(dy + 3),
                               .y = leaky ? call->in[1].data : NULL,
                               .slope = (float)call->params.bn.slope};
    return g;
}

static enum hc_status backward(struct hc_queue *queue, const struct hc_call *call, bool leaky)
{
    const struct hc_tensor *dy = dy_of(call, leaky);
    const struct hc_tensor *x = &call->in[0];
    const struct hc_tensor *const read[] = {x, dy, &call->in[1], NULL};
    const struct hc_tensor *const all[] = {x, dy, &call->in[1], &call->out[0], NULL};
    struct hc_dk_tiling rows = hc_cuda_norm_tiling(x, HC_CUDA_NORM_SLICES, read);
    struct hc_dk_bn_bwd_sums sums = {.g = gradient(call, leaky, rows), .sums = call->scratch};
    float *means = sums.sums ? (float *)(sums.sums + 2 * rows.slices * rows.channels) : NULL;
    struct hc_dk_bn_bwd_means means_args = {.rows = rows,
                                            .sums = sums.sums,
                                            .dgamma = hc_dk_view_of(&call->out[1]),
                                            .dbeta = hc_dk_view_of(&call->out[2]),
                                            .means = means};
    struct hc_dk_bn_bwd a = {.g =
                                 gradient(call, leaky, hc_cuda_norm_tiling(x, HC_CUDA_BLOCKS, all)),
                             .means = means,
                             .gamma = hc_dk_view_of(dy + 1),
                             .dx = hc_dk_view_of(&call->out[0])};
    enum hc_status status =
        hc_cuda_norm_launch(queue, HC_DK_bn_bwd_sums, &rows, true, &sums, sizeof sums);
    if (status == HC_OK)
        status = hc_cuda_norm_add_slices(queue, HC_DK_bn_bwd_means, &rows, &means_args,
                                         sizeof means_args);
    return status == HC_OK
               ? hc_cuda_norm_launch(queue, HC_DK_bn_bwd, &a.g.rows, false, &a, sizeof a)
               : status;
}

enum hc_status hc_cuda_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    return backward(queue, call, false);
}

enum hc_status hc_cuda_bn_leaky_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    return backward(queue, call, true);
}
