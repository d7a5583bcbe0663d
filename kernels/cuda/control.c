#include "kernels/cuda/control.h"

#include "kernels/cuda/wrapper.h"

enum hc_status hc_cuda_scaler_update(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_scaler_update a = {.params = call->params.scaler,
                                    .scale = call->in[0].data,
                                    .counts = call->in[1].data,
                                    .found = call->in[2].data,
                                    .scale_out = call->out[0].data,
                                    .counts_out = call->out[1].data};
    return hc_launch(queue, HC_DK_scaler_update, 1, 1, 0, &a, sizeof a);
}
