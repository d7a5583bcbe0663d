/* sum, dot and sum_squares: partial sums in scratch, which the last block adds up. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/op/families.h"

/* A sum over nothing is written, too. */
static int blocks_of(const struct hc_call *call)
{
    int64_t n = hc_tensor_count(&call->in[HC_REDUCE_X]);
    return hc_blocks_for(n ? n : 1, HC_CUDA_SUM_TERMS, HC_CUDA_SUM_BLOCKS);
}

size_t hc_cuda_reduction_scratch(const struct hc_call *call)
{
    bool in_order = call->params.reduce.accumulator != HC_FP32;
    return in_order ? 0 : (size_t)blocks_of(call) * sizeof(float);
}

enum hc_status hc_cuda_reduce(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_counted_call a = {*call, queue->counters};
    if (call->params.reduce.accumulator != HC_FP32)
        return hc_launch(queue, HC_DK_sum_in_order, 1, 1, 0, call, sizeof *call);
    return hc_launch(queue, HC_DK_partial_sums, blocks_of(call), HC_CUDA_THREADS,
                     HC_CUDA_SUM_SHARED, &a, sizeof a);
}
