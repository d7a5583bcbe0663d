/* What a training step counts and decides on the device. */
#include "kernels/element/control.h"

#include <string.h>

#include "kernels/element/scaler.h"
#include "kernels/exact/exact.h"

/* An optional flag; absent: not set. A NaN counts as set. */
static bool is_set(const struct hc_tensor *flag)
{
    return flag->data && *(const float *)flag->data != 0;
}

enum hc_status hc_exact_scaler_update(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    float scale = *(const float *)call->in[HC_SCALER_SCALE].data;
    int32_t counts[HC_COUNTS];
    memcpy(counts, call->in[HC_SCALER_COUNTS].data, sizeof counts);
    hc_scaler_step(&call->params.scaler, &scale, counts, is_set(&call->in[HC_SCALER_FOUND_INF]));
    memcpy(call->out[HC_SCALER_NEW_COUNTS].data, counts, sizeof counts);
    *(float *)call->out[HC_SCALER_NEW_SCALE].data = scale;
    return HC_OK;
}

enum hc_status hc_exact_overflow_verdict(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    float *verdict = call->out[HC_VERDICT_OUT].data;
    float scale = *(const float *)call->in[HC_SCALER_SCALE].data;
    bool found_inf = is_set(&call->in[HC_SCALER_FOUND_INF]);
    for (int i = 0; i < HC_VERDICT_ELEMENTS; i++)
        verdict[i] = hc_scaler_verdict(&call->params.scaler, scale, call->in[HC_SCALER_COUNTS].data,
                                       found_inf, i);
    return HC_OK;
}

enum hc_status hc_exact_rates(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *table = &call->in[HC_RATES_TABLE];
    float *hyper = call->out[HC_RATES_HYPER].data;
    for (int i = 0; i < HC_HYPER_COUNT; i++)
        hyper[i] =
            hc_element_rates(table->data, table->shape[0], call->in[HC_RATES_COUNTS].data, i);
    return HC_OK;
}

enum hc_status hc_exact_clip(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    *(float *)call->out[HC_CLIP_FACTOR].data =
        hc_element_clip(*(const float *)call->in[HC_CLIP_SUM_SQUARES].data,
                        (float)call->params.clip.max_norm, is_set(&call->in[HC_CLIP_OVERFLOWED]));
    return HC_OK;
}

enum hc_status hc_exact_step_log(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const float *from = call->in[HC_STEP_LOG_ROWS].data;
    const float *scalar[HC_STEP_LOG_COLUMNS];
    float *to = call->out[HC_STEP_LOG_NEW_ROWS].data;
    int64_t rows = call->in[HC_STEP_LOG_ROWS].shape[0];
    for (int i = 0; i < HC_STEP_LOG_COLUMNS; i++)
        scalar[i] = call->in[HC_STEP_LOG_SCALARS + i].data;
    for (int64_t i = 0; i < HC_STEP_LOG_COLUMNS * rows; i++)
        to[i] = hc_element_step_log(from[i], scalar, rows, call->in[HC_STEP_LOG_COUNTS].data, i);
    return HC_OK;
}
