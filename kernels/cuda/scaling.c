#include "kernels/cuda/scaling.h"

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"

enum hc_status hc_cuda_scale(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_scale a = {.x_format = call->in[0].format,
                            .y_format = call->out[0].format,
                            .x = call->in[0].data,
                            .s = call->in[1].data,
                            .y = call->out[0].data,
                            .n = hc_tensor_count(&call->out[0])};
    return hc_launch(queue, HC_DK_scale, hc_blocks_for(a.n, 256, 1024), 256, 0, &a, sizeof a);
}
