#include "train/scaler.h"

#include <math.h>

static void keep(const struct hc_scaler *scaler, struct hc_scaler_state *state, bool found)
{
    (void)scaler;
    state->clean = found ? 0 : state->clean + 1;
}

/* torch's kernel multiplies fp32 with a C++ double and rounds into fp32, on both ways. */
static void torch_update(const struct hc_scaler *scaler, struct hc_scaler_state *state, bool found)
{
    if (found) {
        state->scale = (float)((double)state->scale * (double)scaler->backoff);
        state->clean = 0;
    } else if (++state->clean == scaler->interval) {
        float grown = (float)((double)state->scale * (double)scaler->growth);
        if (isfinite(grown))
            state->scale = grown;
        state->clean = 0;
    }
}

const struct hc_scaler_info hc_scalers[HC_SCALER_COUNT] = {
    [HC_SCALER_NONE] = {"none", "fp32 training; torch's model.half()", false, keep},
    [HC_SCALER_STATIC] =
        {"static", "fastai/fastai_old dev_nb/004b_mixed_precision.ipynb; Apex amp's static scales",
         false, keep},
    [HC_SCALER_TORCH] = {"torch", "pytorch torch/amp/grad_scaler.py, _amp_update_scale_", true,
                         torch_update},
};

struct hc_scaler_update hc_scaler_params(const struct hc_scaler *scaler)
{
    if (!hc_scalers[scaler->rule].skips)
        return (struct hc_scaler_update){.growth = 1, .backoff = 1, .blind = (float)INFINITY};
    return (struct hc_scaler_update){.growth = scaler->growth,
                                     .backoff = scaler->backoff,
                                     .blind = -1,
                                     .cap = HC_CAP_FINITE,
                                     .interval = scaler->interval,
                                     .skips = true};
}

struct hc_scaler_state hc_scaler_start(const struct hc_scaler *scaler)
{
    return (struct hc_scaler_state){.scale =
                                        scaler->rule == HC_SCALER_NONE ? 1.0f : scaler->initial};
}
