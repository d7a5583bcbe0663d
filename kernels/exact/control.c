/* What a training step counts and decides. */
#include <string.h>

#include "kernels/element/control.h"
#include "kernels/exact/exact.h"
#include "kernels/element/scaler.h"

enum hc_status hc_exact_scaler_update(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const float *found = call->in[2].data;
    float scale = *(const float *)call->in[0].data;
    int32_t counts[HC_COUNTS];
    memcpy(counts, call->in[1].data, sizeof counts);
    hc_scaler_step(&call->params.scaler, &scale, counts, found && *found != 0);
    memcpy(call->out[1].data, counts, sizeof counts);
    *(float *)call->out[0].data = scale;
    return HC_OK;
}

enum hc_status hc_exact_overflow_verdict(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const float *found = call->in[2].data;
    float *out = call->out[0].data;
    float scale = *(const float *)call->in[0].data;
    for (int i = 0; i < 2; i++)
        out[i] = hc_scaler_verdict(&call->params.scaler, scale, call->in[1].data,
                                   found && *found != 0, i);
    return HC_OK;
}

enum hc_status hc_exact_rates(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    float *hyper = call->out[0].data;
    for (int i = 0; i < 3; i++)
        hyper[i] = hc_element_rates(call->in[0].data, call->in[0].shape[0], call->in[1].data, i);
    return HC_OK;
}

enum hc_status hc_exact_clip(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const float *held = call->in[1].data;
    *(float *)call->out[0].data = hc_element_clip(
        *(const float *)call->in[0].data, (float)call->params.clip.max_norm, held && *held != 0);
    return HC_OK;
}

enum hc_status hc_exact_step_log(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const float *was = call->in[0].data;
    const float *scalar[4];
    float *to = call->out[0].data;
    int64_t rows = call->in[0].shape[0];
    for (int i = 0; i < 4; i++)
        scalar[i] = call->in[2 + i].data;
    for (int64_t i = 0; i < 4 * rows; i++)
        to[i] = hc_element_step_log(was[i], scalar, rows, call->in[1].data, i);
    return HC_OK;
}
