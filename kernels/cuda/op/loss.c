/* Softmax cross-entropy: a block takes a row at a time. A warp is enough for the few classes that
   there are. */
#include "kernels/cuda/kernel/arguments.h"
#include "kernels/cuda/op/families.h"

enum { THREADS = HC_WARP, SHARED = THREADS / HC_WARP * (int)sizeof(float) };

static int blocks_of(const struct hc_call *call)
{
    return hc_blocks_for(call->in[HC_XENT_LOGITS].shape[0], 1, HC_CUDA_LOSS_BLOCKS);
}

/* For each row its loss, and behind all losses whether the row is correct. */
size_t hc_cuda_loss_scratch(const struct hc_call *call)
{
    return 2 * (size_t)call->in[HC_XENT_LOGITS].shape[0] * sizeof(float);
}

enum hc_status hc_cuda_xent(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_counted_call a = {*call, queue->counters};
    return hc_launch(queue, HC_DK_row_losses, blocks_of(call), THREADS, SHARED, &a, sizeof a);
}

enum hc_status hc_cuda_xent_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    return hc_launch(queue, HC_DK_xent_bwd, blocks_of(call), THREADS, SHARED, call, sizeof *call);
}
