/* axpy, scale, unscale with the detection of infinities and NaN, leaky ReLU both ways. */
#include "kernels/cuda/kernel/scaling.h"

#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/leaky.h"
#include "kernels/element/scaling.h"

HC_ON_DEVICE void hc_dk_axpy_body(const struct hc_dk_axpy *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
        hc_dk_store(&a->out, i,
                    hc_element_axpy(a->alpha, hc_dk_load(&a->x, i), hc_dk_load(&a->y, i)));
}
HC_LAUNCHABLE(axpy)

HC_ON_DEVICE void hc_dk_scale_body(const struct hc_dk_scale *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
        hc_dk_store(&a->out, i, hc_element_scale(hc_dk_load(&a->x, i), *a->s));
}
HC_LAUNCHABLE(scale)

HC_ON_DEVICE void hc_dk_found_body(const struct hc_dk_found *a)
{
    *a->to = a->from && *a->from != 0 ? 1.0f : 0.0f;
}
HC_LAUNCHABLE(found)

HC_ON_DEVICE void hc_dk_unscale_body(const struct hc_dk_unscale *a)
{
    float by = a->reciprocal ? hc_unscale_reciprocal(*a->s) : *a->s;
    int found = 0;
    int override = a->override && a->before && *a->before != 0;
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        float x = hc_dk_load(&a->x, i);
        found |= hc_is_nonfinite(x);
        hc_dk_store(&a->out, i,
                    override ? a->override[i] : hc_element_unscale(a->reciprocal, x, by));
    }
    if (found)
        hc_atomic_or((unsigned *)a->found, hc_fp32_bits(1));
}
HC_LAUNCHABLE(unscale)

HC_ON_DEVICE void hc_dk_leaky_relu_body(const struct hc_dk_leaky_relu *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
        hc_dk_store(&a->out, i, hc_element_leaky_relu(a->slope, hc_dk_load(&a->x, i)));
}
HC_LAUNCHABLE(leaky_relu)

HC_ON_DEVICE void hc_dk_leaky_relu_bwd_body(const struct hc_dk_leaky_relu_bwd *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
        hc_dk_store(
            &a->out, i,
            hc_element_leaky_relu_bwd(a->slope, hc_dk_load(&a->y, i), hc_dk_load(&a->dy, i)));
}
HC_LAUNCHABLE(leaky_relu_bwd)
