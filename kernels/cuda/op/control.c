#include "kernels/cuda/kernel/control.h"

#include "kernels/cuda/op/wrapper.h"

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

enum hc_status hc_cuda_overflow_verdict(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_overflow_verdict a = {.params = call->params.scaler,
                                       .scale = call->in[0].data,
                                       .counts = call->in[1].data,
                                       .found = call->in[2].data,
                                       .out = call->out[0].data};
    return hc_launch(queue, HC_DK_overflow_verdict, 1, 2, 0, &a, sizeof a);
}

enum hc_status hc_cuda_rates(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_rates a = {.table = call->in[0].data,
                            .rows = call->in[0].shape[0],
                            .counts = call->in[1].data,
                            .hyper = call->out[0].data};
    return hc_launch(queue, HC_DK_rates, 1, 3, 0, &a, sizeof a);
}

enum hc_status hc_cuda_step_log(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_step_log a = {.from = call->in[0].data,
                               .counts = call->in[1].data,
                               .rows = call->in[0].shape[0],
                               .to = call->out[0].data};
    for (int i = 0; i < 4; i++)
        a.scalar[i] = call->in[2 + i].data;
    return hc_cuda_launch_elements(queue, HC_DK_step_log, 4 * a.rows, &a, sizeof a);
}

enum hc_status hc_cuda_clip(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_clip a = {.squares = call->in[0].data,
                           .held = call->in[1].data,
                           .max_norm = (float)call->params.clip.max_norm,
                           .factor = call->out[0].data};
    return hc_launch(queue, HC_DK_clip, 1, 1, 0, &a, sizeof a);
}
