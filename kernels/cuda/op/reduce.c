#include "kernels/cuda/kernel/reduce.h"

#include "kernels/cuda/op/families.h"
#include "kernels/cuda/op/wrapper.h"

static int blocks_of(const struct hc_call *call)
{
    return hc_blocks_for(hc_tensor_count(&call->in[0]), HC_CUDA_SUM_SHARE, HC_CUDA_SUM_BLOCKS);
}

size_t hc_cuda_reduce_scratch(const struct hc_call *call)
{
    bool in_order = call->params.reduce.accumulator != HC_FP32;
    return in_order ? 0 : (size_t)blocks_of(call) * sizeof(float);
}

static enum hc_status whole_sum(struct hc_queue *queue, const float *from, int64_t n, float by,
                                const float *onto, const struct hc_tensor *out)
{
    struct hc_dk_whole_sum a = {
        .from = from, .n = n, .by = by, .onto = onto, .out = hc_dk_view_of(out)};
    return hc_launch(queue, HC_DK_whole_sum, 1, HC_CUDA_THREADS, HC_CUDA_BLOCK_SHARED, &a,
                     sizeof a);
}

enum hc_status hc_cuda_whole_sum(struct hc_queue *queue, const float *from, int64_t n, float by,
                                 const struct hc_tensor *out)
{
    return whole_sum(queue, from, n, by, NULL, out);
}

static enum hc_status reduce(struct hc_queue *queue, const struct hc_call *call,
                             const struct hc_dk_terms *terms, const float *onto)
{
    const struct hc_tensor *out = &call->out[0];
    if (call->params.reduce.accumulator != HC_FP32) {
        struct hc_dk_sum_in_order a = {.terms = *terms,
                                       .accumulator = call->params.reduce.accumulator,
                                       .out = hc_dk_view_of(out)};
        return hc_launch(queue, HC_DK_sum_in_order, 1, 1, 0, &a, sizeof a);
    }
    struct hc_dk_partial_sums a = {.terms = *terms, .to = call->scratch};
    enum hc_status status = hc_launch(queue, HC_DK_partial_sums, blocks_of(call), HC_CUDA_THREADS,
                                      HC_CUDA_BLOCK_SHARED, &a, sizeof a);
    return status == HC_OK ? whole_sum(queue, a.to, blocks_of(call), 1, onto, out) : status;
}

enum hc_status hc_cuda_sum(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_terms terms = {.x = hc_dk_view_of(&call->in[0]),
                                .n = hc_tensor_count(&call->in[0])};
    return reduce(queue, call, &terms, NULL);
}

enum hc_status hc_cuda_dot(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_terms terms = {.x = hc_dk_view_of(&call->in[0]),
                                .y = hc_dk_view_of(&call->in[1]),
                                .n = hc_tensor_count(&call->in[0])};
    return reduce(queue, call, &terms, NULL);
}

enum hc_status hc_cuda_sum_squares(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_view x = hc_dk_view_of(&call->in[0]);
    struct hc_dk_terms terms = {.x = x, .y = x, .n = hc_tensor_count(&call->in[0])};
    return reduce(queue, call, &terms, call->in[1].data);
}
