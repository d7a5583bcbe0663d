/* Softmax cross-entropy: a block takes a row at a time. A warp is enough for the few classes that
   there are. */
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
    int64_t rows = call->in[HC_XENT_LOGITS].shape[0];
    const float *losses = call->scratch;
    float by = call->params.xent.sum ? 1 : (float)rows;
    enum hc_status status =
        hc_launch(queue, HC_DK_row_losses, blocks_of(call), THREADS, SHARED, call, sizeof *call);
    if (status == HC_OK)
        status = hc_cuda_whole_sum(queue, losses, rows, by, NULL, &call->out[HC_XENT_LOSS]);
    if (status == HC_OK && call->out[HC_XENT_CORRECT].data)
        status =
            hc_cuda_whole_sum(queue, losses + rows, rows, 1, NULL, &call->out[HC_XENT_CORRECT]);
    return status;
}

enum hc_status hc_cuda_xent_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    return hc_launch(queue, HC_DK_xent_bwd, blocks_of(call), THREADS, SHARED, call, sizeof *call);
}
