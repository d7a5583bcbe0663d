/* One step of the rules with a state (op/scale_rule.h), delayed scaling: from the amax of this
   step, the history of amaxes and the scale to the next history and scale. */
#ifndef HC_KERNELS_ELEMENT_SCALE_DELAYED_H
#define HC_KERNELS_ELEMENT_SCALE_DELAYED_H

#include <math.h>
#include <stdint.h>

#include "kernels/element/scale_e8m0.h"
#include "kernels/element/scale_formats.h"
#include "num/inline.h"
#include "op/quant.h"

/* The history of one tensor: entry i stands at i * stride. new_entries may be entries. */
struct hc_delayed_history {
    const float *entries;
    float *new_entries;
    int64_t length; /* L >= 1 */
    int64_t stride;
};

/* Drops the oldest entry, 1, and writes `last` behind the newest and `first` into slot 0. */
HC_INLINE void hc_delayed_roll(const struct hc_delayed_history *h, float last, float first)
{
    for (int64_t i = 0; i + 1 < h->length; i++)
        h->new_entries[i * h->stride] = h->entries[(i + 1) * h->stride];
    h->new_entries[(h->length - 1) * h->stride] = last;
    h->new_entries[0] = first;
}

/* The largest of the entries from `from` and of `other`; a NaN is dropped, or with `propagate`
   kept. */
HC_INLINE float hc_delayed_largest(const struct hc_delayed_history *h, int64_t from, float other,
                                   int propagate)
{
    float m = other;
    for (int64_t i = from; i < h->length; i++) {
        float a = h->entries[i * h->stride];
        m = propagate && (isnan(a) || isnan(m)) ? (isnan(m) ? m : a) : fmaxf(m, a);
    }
    return m;
}

/* M 2^-margin / m if m is positive and finite, else the scale as it was. */
HC_INLINE float hc_delayed_divide(float max, float m, float scale)
{
    return isfinite(m) && m > 0 ? max / m : scale;
}

HC_INLINE float hc_delayed_te(const struct hc_delayed_scale *p, float max, float amax, float scale,
                              const struct hc_delayed_history *h)
{
    float last = amax != 0 ? amax : h->entries[0];
    float m = 0;
    if (last != 0) { /* a NaN is not 0 */
        m = p->most_recent ? last : hc_delayed_largest(h, 1, last, 0);
        hc_delayed_roll(h, last, 0);
    } else {
        for (int64_t i = 0; i < h->length; i++)
            h->new_entries[i * h->stride] = h->entries[i * h->stride];
    }
    float s = hc_delayed_divide(max * ldexpf(1, -p->margin), m, scale);
    return isinf(s) ? HC_FP32_MAX : s;
}

/* One step. `max` is the codes' M; `scale` is the multiplier, but under flax-delayed what flax
   keeps, its reciprocal. The result is the next scale. */
HC_INLINE float hc_delayed_step(const struct hc_delayed_scale *p, float max, float amax,
                                float scale, const struct hc_delayed_history *h)
{
    return hc_delayed_te(p, max, amax, scale, h);
}

#endif
