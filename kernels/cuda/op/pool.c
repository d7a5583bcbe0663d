#include "kernels/cuda/kernel/pool.h"

#include "kernels/cuda/op/wrapper.h"

/* x: the large tensor; y: the one of means. */
static struct hc_dk_avg_pool pool(const struct hc_call *call, const struct hc_tensor *x,
                                  const struct hc_tensor *y)
{
    struct hc_dk_avg_pool a = {.x = hc_dk_view_of(x),
                               .y = hc_dk_view_of(y),
                               .window = call->params.pool.window,
                               .wide = x->shape[2],
                               .channels = x->shape[3],
                               .n = hc_tensor_count(&call->out[0])};
    return a;
}

enum hc_status hc_cuda_avg_pool(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_avg_pool a = pool(call, &call->in[0], &call->out[0]);
    return hc_cuda_launch_elements(queue, HC_DK_avg_pool, a.n, &a, sizeof a);
}

enum hc_status hc_cuda_avg_pool_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_avg_pool_bwd a = {.pool = pool(call, &call->out[0], &call->in[0])};
    return hc_cuda_launch_elements(queue, HC_DK_avg_pool_bwd, a.pool.n, &a, sizeof a);
}
