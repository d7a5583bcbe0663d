/* One step of the rules with a state (op/scale_rule.h), delayed scaling: from the amax of this
   step, the history of amaxes and the scale to the next history and scale. */
#ifndef HC_KERNELS_ELEMENT_SCALE_DELAYED_H
#define HC_KERNELS_ELEMENT_SCALE_DELAYED_H

#include <math.h>
#include <stdint.h>

#include "kernels/element/scale_formats.h"
#include "kernels/element/significand.h"
#include "num/inline.h"
#include "op/quant.h"

/* The history of one tensor: entry i stands at i * stride. new_entries may be entries. */
struct hc_delayed_history {
    const float *entries;
    float *new_entries;
    int64_t length; /* L >= 1 */
    int64_t stride;
};

/* Moves every entry one slot down, writes `last` into the last slot and then `first` into slot 0,
   which is the last one, too, if there is one slot. */
HC_INLINE void hc_delayed_roll(const struct hc_delayed_history *h, float last, float first)
{
    for (int64_t i = 0; i + 1 < h->length; i++)
        h->new_entries[i * h->stride] = h->entries[(i + 1) * h->stride];
    h->new_entries[(h->length - 1) * h->stride] = last;
    h->new_entries[0] = first;
}

/* Writes `first` into slot 0 and leaves the others. */
HC_INLINE void hc_delayed_keep(const struct hc_delayed_history *h, float first)
{
    for (int64_t i = 1; i < h->length; i++)
        h->new_entries[i * h->stride] = h->entries[i * h->stride];
    h->new_entries[0] = first;
}

/* The largest of `first` and the entries from slot 1 on. A NaN is dropped, or with `propagate` it
   is the result. Not fmaxf: C's and CUDA's disagree on signalling NaNs. */
HC_INLINE float hc_delayed_largest(const struct hc_delayed_history *h, float first, int propagate)
{
    float m = first;
    for (int64_t i = 1; i < h->length; i++) {
        float a = h->entries[i * h->stride];
        if (isnan(m) ? !propagate : a > m || (propagate && isnan(a)))
            m = a;
    }
    return m;
}

HC_INLINE int hc_delayed_is_usable(float amax)
{
    return isfinite(amax) && amax > 0;
}

HC_INLINE float hc_delayed_te(const struct hc_delayed_scale *p, float max, float last, float scale,
                              const struct hc_delayed_history *h)
{
    float m = 0;
    if (last != 0) { /* so is a NaN */
        m = p->most_recent ? last : hc_delayed_largest(h, last, 0);
        hc_delayed_roll(h, last, 0);
    } else {
        hc_delayed_keep(h, h->entries[0]);
    }
    float s = hc_delayed_is_usable(m) ? max * ldexpf(1, -p->margin) / m : scale;
    return isinf(s) ? HC_FP32_MAX : s;
}

/* Both of those that always roll; `jax` divides once, and lets the scale be infinite. */
HC_INLINE float hc_delayed_unfused(const struct hc_delayed_scale *p, float max, float last,
                                   float scale, const struct hc_delayed_history *h, int jax)
{
    float m = p->most_recent ? last : hc_delayed_largest(h, last, 1);
    hc_delayed_roll(h, last, 0);
    if (!hc_delayed_is_usable(m))
        return !jax && isinf(scale) ? HC_FP32_MAX : scale;
    float s = (jax ? max / m : max * (1 / m)) / ldexpf(1, p->margin);
    return !jax && isinf(s) ? HC_FP32_MAX : s;
}

/* The scale is the reciprocal of a multiplier, and is taken from the history as it was. */
HC_INLINE float hc_delayed_flax(const struct hc_delayed_scale *p, float max, float amax, float d,
                                const struct hc_delayed_history *h)
{
    float oldest = h->entries[0];
    float m = p->most_recent ? oldest : hc_delayed_largest(h, oldest, 1);
    hc_delayed_roll(h, oldest, amax);
    float s = hc_delayed_is_usable(m) ? max / m / ldexpf(1, p->margin) : 1 / d;
    return 1 / s;
}

/* 2^|e|, and its reciprocal for a negative e: an infinite amax has the exponent -inf, so that what
   is inverted is the old scale. */
HC_INLINE float hc_delayed_ms_amp(const struct hc_delayed_scale *p, float max, float amax,
                                  float scale, const struct hc_delayed_history *h)
{
    hc_delayed_keep(h, amax);
    float q = max * (1 / amax);
    if (!(amax > 0))
        return scale;
    if (isinf(amax))
        return 1 / scale;
    if (isinf(q))
        return q;
    int e = hc_floor_log2_fp32(hc_significand_of(q)) - p->margin;
    float s = ldexpf(1, e < 0 ? -e : e);
    return e < 0 ? 1 / s : s;
}

/* One step. `amax` is this step's, 0 if the tensor was idle; TransformerEngine's rules then take
   what stands in slot 0, where its kernels gather it. `max` is the codes' M. `scale` is the
   multiplier, but under flax-delayed what flax keeps, the reciprocal of one. The result is the next
   scale. */
HC_INLINE float hc_delayed_step(const struct hc_delayed_scale *p, float max, float amax,
                                float scale, const struct hc_delayed_history *h)
{
    float last = amax != 0 ? amax : h->entries[0];
    switch (p->rule) {
    case HC_DELAYED_TE_UNFUSED:
        return hc_delayed_unfused(p, max, last, scale, h, 0);
    case HC_DELAYED_TE_JAX:
        return hc_delayed_unfused(p, max, last, scale, h, 1);
    case HC_DELAYED_FLAX:
        return hc_delayed_flax(p, max, amax, scale, h);
    case HC_DELAYED_MS_AMP:
        return hc_delayed_ms_amp(p, max, amax, scale, h);
    default:
        return hc_delayed_te(p, max, last, scale, h);
    }
}

#endif
