/* What a training step counts and decides. */
#include "kernels/cuda/kernel/control.h"

#include "kernels/element/control.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/scaler.h"

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

HC_ON_DEVICE void hc_dk_overflow_verdict_body(const struct hc_dk_overflow_verdict *a)
{
    int found = a->found && *a->found != 0;
    a->out[hc_thread()] = hc_scaler_verdict(&a->params, *a->scale, a->counts, found, hc_thread());
}
HC_LAUNCHABLE(overflow_verdict)

HC_ON_DEVICE void hc_dk_rates_body(const struct hc_dk_rates *a)
{
    a->hyper[hc_thread()] = hc_element_rates(a->table, a->rows, a->counts, hc_thread());
}
HC_LAUNCHABLE(rates)

HC_ON_DEVICE void hc_dk_step_log_body(const struct hc_dk_step_log *a)
{
    for (int64_t i = hc_dk_first(); i < 4 * a->rows; i += hc_dk_stride())
        a->to[i] = hc_element_step_log(a->from[i], a->scalar, a->rows, a->counts, i);
}
HC_LAUNCHABLE(step_log)

HC_ON_DEVICE void hc_dk_clip_body(const struct hc_dk_clip *a)
{
    *a->factor = hc_element_clip(*a->squares, a->max_norm, a->held && *a->held != 0);
}
HC_LAUNCHABLE(clip)
