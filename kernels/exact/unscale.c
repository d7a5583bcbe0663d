/* unscale, which looks for infinities and NaN on the way. */
#include "kernels/element/load.h"
#include "kernels/element/scaling.h"
#include "kernels/exact/exact.h"

enum hc_status hc_exact_unscale(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[HC_UNSCALE_X];
    const struct hc_tensor *out = &call->out[HC_UNSCALE_OUT];
    bool reciprocal = call->params.unscale.reciprocal;
    float s = *(const float *)call->in[HC_UNSCALE_SCALE].data;
    float factor = reciprocal ? hc_unscale_reciprocal(s) : s;
    const float *found_before = call->in[HC_UNSCALE_FOUND_INF].data;
    int found_inf = found_before && *found_before != 0;
    const float *override = found_inf ? call->in[HC_UNSCALE_OVERRIDE].data : NULL;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        float value = hc_load(x->format, x->data, i);
        found_inf |= hc_is_nonfinite(value);
        hc_store(out->format, out->data, i,
                 override ? override[i] : hc_element_unscale(reciprocal, value, factor));
    }
    *(float *)call->out[HC_UNSCALE_NEW_FOUND_INF].data = found_inf ? 1 : 0;
    return HC_OK;
}
