#include "kernels/cuda/kernel/loss.h"

#include "kernels/cuda/op/families.h"
#include "kernels/cuda/op/wrapper.h"

/* A warp is enough for the few classes that there are; a block walks over rows beyond
   HC_CUDA_LOSS_BLOCKS. */
enum { THREADS = HC_WARP, SHARED = THREADS / HC_WARP * (int)sizeof(float) };

static struct hc_dk_logits logits(const struct hc_call *call)
{
    struct hc_dk_logits l = {.z = hc_dk_view_of(&call->in[0]),
                             .label = call->in[1].data,
                             .rows = call->in[0].shape[0],
                             .classes = call->in[0].shape[1]};
    return l;
}

static float count(const struct hc_call *call)
{
    return call->params.xent.sum ? 1 : (float)call->in[0].shape[0];
}

size_t hc_cuda_loss_scratch(const struct hc_call *call)
{
    return 2 * (size_t)call->in[0].shape[0] * sizeof(float);
}

enum hc_status hc_cuda_xent(struct hc_queue *queue, const struct hc_call *call)
{
    int64_t rows = call->in[0].shape[0];
    float *scratch = call->scratch;
    struct hc_dk_row_losses a = {.logits = logits(call), .to = scratch, .right = scratch + rows};
    enum hc_status status =
        hc_launch(queue, HC_DK_row_losses, hc_blocks_for(rows, 1, HC_CUDA_LOSS_BLOCKS), THREADS,
                  SHARED, &a, sizeof a);
    if (status == HC_OK)
        status = hc_cuda_whole_sum(queue, a.to, rows, count(call), &call->out[0]);
    if (status == HC_OK && call->out[1].data)
        status = hc_cuda_whole_sum(queue, a.right, rows, 1, &call->out[1]);
    return status;
}

enum hc_status hc_cuda_xent_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_xent_bwd a = {.logits = logits(call),
                               .upstream = call->in[2].data,
                               .count = count(call),
                               .out = hc_dk_view_of(&call->out[0])};
    return hc_launch(queue, HC_DK_xent_bwd, hc_blocks_for(a.logits.rows, 1, HC_CUDA_LOSS_BLOCKS),
                     THREADS, SHARED, &a, sizeof a);
}
