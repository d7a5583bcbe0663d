/* sum, dot and sum_squares: partial sums in scratch, then their sum. */
#include "kernels/cuda/kernel/reduction.h"

#include "kernels/cuda/op/families.h"

static int blocks_of(const struct hc_call *call)
{
    return hc_blocks_for(hc_tensor_count(&call->in[HC_REDUCE_X]), HC_CUDA_SUM_TERMS,
                         HC_CUDA_SUM_BLOCKS);
}

size_t hc_cuda_reduction_scratch(const struct hc_call *call)
{
    bool in_order = call->params.reduce.accumulator != HC_FP32;
    return in_order ? 0 : (size_t)blocks_of(call) * sizeof(float);
}

enum hc_status hc_cuda_whole_sum(struct hc_queue *queue, const float *from, int64_t n, float by,
                                 const float *onto, const struct hc_tensor *out)
{
    struct hc_dk_whole_sum a = {.from = from, .n = n, .by = by, .onto = onto, .out = *out};
    return hc_launch(queue, HC_DK_whole_sum, 1, HC_CUDA_THREADS, HC_CUDA_SUM_SHARED, &a, sizeof a);
}

enum hc_status hc_cuda_reduce(struct hc_queue *queue, const struct hc_call *call)
{
    const float *onto =
        call->op == HC_OP_sum_squares ? call->in[HC_SUM_SQUARES_PARTIAL].data : NULL;
    if (call->params.reduce.accumulator != HC_FP32)
        return hc_launch(queue, HC_DK_sum_in_order, 1, 1, 0, call, sizeof *call);
    enum hc_status status = hc_launch(queue, HC_DK_partial_sums, blocks_of(call), HC_CUDA_THREADS,
                                      HC_CUDA_SUM_SHARED, call, sizeof *call);
    if (status != HC_OK)
        return status;
    return hc_cuda_whole_sum(queue, call->scratch, blocks_of(call), 1, onto,
                             &call->out[HC_REDUCE_OUT]);
}
