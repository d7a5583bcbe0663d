/* sum, dot and sum_squares with an fp32 accumulator. The elements are divided into at most
   HC_HOST_CHUNKS chunks. A chunk keeps HC_LANES partial sums, which are added from the first to the
   last; then the chunks' sums are added in order. */
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"

/* The sum of elements from .. to - 1 of x, or of their products with y's if y is not NULL. */
static float chunk_sum(const struct hc_queue *queue, const struct hc_tensor *x,
                       const struct hc_tensor *y, int64_t from, int64_t to)
{
    float lane[HC_LANES] = {0};
    for (int64_t at = from; at < to; at += HC_HOST_BLOCK) {
        float buffer[2][HC_HOST_BLOCK];
        int64_t n = to - at < HC_HOST_BLOCK ? to - at : HC_HOST_BLOCK;
        const float *a = hc_host_view(queue, x, at, n, buffer[0]);
        if (y)
            queue->loops->dot(a, y == x ? a : hc_host_view(queue, y, at, n, buffer[1]), n, lane);
        else
            queue->loops->sum(a, n, lane);
    }
    float sum = 0;
    for (int j = 0; j < HC_LANES; j++)
        sum += lane[j];
    return sum;
}

static float reduce(struct hc_queue *queue, const struct hc_call *call, const struct hc_tensor *y)
{
    const struct hc_tensor *x = &call->in[HC_REDUCE_X];
    int64_t n = hc_tensor_count(x);
    int64_t blocks = (n + HC_HOST_BLOCK - 1) / HC_HOST_BLOCK;
    int64_t length = (blocks + HC_HOST_CHUNKS - 1) / HC_HOST_CHUNKS * HC_HOST_BLOCK;
    float sums[HC_HOST_CHUNKS] = {0};
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (n > HC_HOST_SMALL)
    for (int i = 0; i < HC_HOST_CHUNKS; i++) {
        int64_t from = i * length;
        int64_t to = from + length < n ? from + length : n;
        if (from < to)
            sums[i] = chunk_sum(queue, x, y, from, to);
    }
    float sum = 0;
    for (int i = 0; i < HC_HOST_CHUNKS; i++)
        sum += sums[i];
    return sum;
}

enum hc_status hc_host_sum(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->params.reduce.accumulator != HC_FP32)
        return hc_exact_run(queue, call);
    hc_host_set(&call->out[HC_REDUCE_OUT], 0, reduce(queue, call, NULL));
    return HC_OK;
}

enum hc_status hc_host_dot(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->params.reduce.accumulator != HC_FP32)
        return hc_exact_run(queue, call);
    hc_host_set(&call->out[HC_REDUCE_OUT], 0, reduce(queue, call, &call->in[HC_DOT_Y]));
    return HC_OK;
}

enum hc_status hc_host_sum_squares(struct hc_queue *queue, const struct hc_call *call)
{
    const float *partial = call->in[HC_SUM_SQUARES_PARTIAL].data;
    float sum = reduce(queue, call, &call->in[HC_REDUCE_X]);
    *(float *)call->out[HC_REDUCE_OUT].data = partial ? *partial + sum : sum;
    return HC_OK;
}
