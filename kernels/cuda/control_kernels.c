/* What a training step counts and decides. */
#include "kernels/cuda/control.h"

#include "kernels/cuda/device.h"
#include "kernels/scaler.h"

HC_ON_DEVICE void hc_dk_scaler_update_body(const struct hc_dk_scaler_update *a)
{
    float scale = *a->scale;
    int32_t counts[HC_COUNTS];
    for (int i = 0; i < HC_COUNTS; i++)
        counts[i] = a->counts[i];
    hc_scaler_step(&a->params, &scale, counts, a->found && *a->found != 0);
    for (int i = 0; i < HC_COUNTS; i++)
        a->counts_out[i] = counts[i];
    *a->scale_out = scale;
}
HC_LAUNCHABLE(scaler_update)
