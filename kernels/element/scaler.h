/* One step of a loss scaler's rule, by the contract of scaler_update (op/control.h). fp32
   throughout: each product is rounded once, as torch's is, which multiplies in fp64 and rounds that
   exact product. */
#ifndef HC_KERNELS_ELEMENT_SCALER_H
#define HC_KERNELS_ELEMENT_SCALER_H

#include "num/bits.h"
#include "op/call.h"

HC_INLINE int hc_scaler_is_due(const struct hc_scaler_update *p, float scale, int32_t clean)
{
    int32_t n = clean - p->delay;
    if (p->interval == 0 || (p->cap == HC_CAP_BELOW && !(scale < p->max_scale)))
        return 0;
    if (p->when == HC_WHEN_EQUAL)
        return n == p->interval;
    if (p->when == HC_WHEN_REACHED)
        return n >= p->interval;
    return n > 0 && n % p->interval == 0;
}

HC_INLINE float hc_scaler_grow(const struct hc_scaler_update *p, float scale)
{
    float grown = scale * p->growth;
    if (p->cap == HC_CAP_CLAMP && grown > p->max_scale)
        return p->max_scale;
    if (p->cap == HC_CAP_FINITE && (hc_fp32_bits(grown) & 0x7f800000u) == 0x7f800000u)
        return scale;
    return grown;
}

HC_INLINE float hc_scaler_back_off(const struct hc_scaler_update *p, float scale, int32_t *counts)
{
    if (p->error_at_floor && scale == 0) {
        counts[HC_COUNT_GAVE_UP] = 1;
        return scale;
    }
    if (counts[HC_COUNT_HELD_BACK] + 1 < p->hysteresis) {
        counts[HC_COUNT_HELD_BACK]++;
        return scale;
    }
    if (p->error_at_floor && scale == p->floor) {
        counts[HC_COUNT_GAVE_UP] = 1;
        return scale;
    }
    float backed = scale * p->backoff;
    return backed < p->floor ? p->floor : backed;
}

/* Whether the step is seen to have overflowed, and whether it is then counted as skipped. */
HC_INLINE int hc_scaler_overflowed(const struct hc_scaler_update *p, float scale, int found)
{
    return (found && !(scale <= p->min_checked_scale)) || (p->error_at_floor && scale == 0);
}

HC_INLINE int hc_scaler_skips(const struct hc_scaler_update *p, const int32_t *counts)
{
    return p->skip_on_overflow || (p->wait_for_first_step && counts[HC_COUNT_TAKEN] == 0);
}

/* Element i of what decide says. */
HC_INLINE float hc_scaler_verdict(const struct hc_scaler_update *p, float scale,
                                  const int32_t *counts, int found, int i)
{
    int seen = hc_scaler_overflowed(p, scale, found);
    return seen && (i == 0 || hc_scaler_skips(p, counts)) ? 1 : 0;
}

HC_INLINE void hc_scaler_step(const struct hc_scaler_update *p, float *scale, int32_t *counts,
                              int found)
{
    counts[HC_COUNT_STEPS]++;
    counts[HC_COUNT_FOUND] += found;
    if (hc_scaler_overflowed(p, *scale, found)) {
        counts[hc_scaler_skips(p, counts) ? HC_COUNT_SKIPPED : HC_COUNT_TAKEN]++;
        if (!p->keep_clean)
            counts[HC_COUNT_CLEAN] = 0;
        *scale = hc_scaler_back_off(p, *scale, counts);
        return;
    }
    counts[HC_COUNT_TAKEN]++;
    counts[HC_COUNT_CLEAN]++;
    if (p->refill_hysteresis)
        counts[HC_COUNT_HELD_BACK] = 0;
    if (hc_scaler_is_due(p, *scale, counts[HC_COUNT_CLEAN])) {
        counts[HC_COUNT_HELD_BACK] = 0;
        if (p->when != HC_WHEN_MULTIPLE)
            counts[HC_COUNT_CLEAN] = 0;
        *scale = hc_scaler_grow(p, *scale);
    }
}

#endif
