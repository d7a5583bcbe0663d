/* axpy, scale, unscale with the detection of infinities and NaN. */
#include "kernels/element/scaling.h"

#include "kernels/exact/exact.h"
#include "kernels/element/load.h"

enum hc_status hc_exact_axpy(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[0];
    const struct hc_tensor *y = &call->in[1];
    const struct hc_tensor *out = &call->out[0];
    float alpha = (float)call->params.axpy.alpha;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++)
        hc_store(
            out->format, out->data, i,
            hc_element_axpy(alpha, hc_load(x->format, x->data, i), hc_load(y->format, y->data, i)));
    return HC_OK;
}

enum hc_status hc_exact_scale(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[0];
    const struct hc_tensor *out = &call->out[0];
    float s = *(const float *)call->in[1].data;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++)
        hc_store(out->format, out->data, i, hc_element_scale(hc_load(x->format, x->data, i), s));
    return HC_OK;
}

enum hc_status hc_exact_unscale(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *x = &call->in[0];
    const struct hc_tensor *out = &call->out[0];
    bool reciprocal = call->params.unscale.reciprocal;
    float s = *(const float *)call->in[1].data;
    float by = reciprocal ? hc_unscale_reciprocal(s) : s;
    const float *before = call->in[2].data;
    int found = before && *before != 0;
    const float *override = found ? call->in[3].data : NULL;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        float value = hc_load(x->format, x->data, i);
        found |= hc_is_nonfinite(value);
        hc_store(out->format, out->data, i,
                 override ? override[i] : hc_element_unscale(reciprocal, value, by));
    }
    *(float *)call->out[1].data = found ? 1 : 0;
    return HC_OK;
}
