/* What a training step counts and decides. */
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/scaler.h"

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
