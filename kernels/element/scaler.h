/* One step of a loss scaler's rule, by the contract of scaler_update (op/control.h). All arithmetic
   is fp32, each product rounded once. torch gives the same: it multiplies in fp64, where the
   product is exact, and rounds that. */
#ifndef HC_KERNELS_ELEMENT_SCALER_H
#define HC_KERNELS_ELEMENT_SCALER_H

#include "num/bits.h"
#include "op/call.h"

/* Whether the scale grows after `clean` steps without an overflow. */
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

/* The scale after growth. */
HC_INLINE float hc_scaler_grow(const struct hc_scaler_update *p, float scale)
{
    float grown = scale * p->growth;
    if (p->cap == HC_CAP_CLAMP && grown > p->max_scale)
        return p->max_scale;
    if (p->cap == HC_CAP_FINITE && (hc_fp32_bits(grown) & 0x7f800000u) == 0x7f800000u)
        return scale;
    return grown;
}

/* The scale after an overflow. */
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
    float smaller = scale * p->backoff;
    return smaller < p->floor ? p->floor : smaller;
}

/* Whether the rule sees an overflow. */
HC_INLINE int hc_scaler_overflowed(const struct hc_scaler_update *p, float scale, int found_inf)
{
    return (found_inf && !(scale <= p->min_checked_scale)) || (p->error_at_floor && scale == 0);
}

/* Whether a step with an overflow counts as skipped. */
HC_INLINE int hc_scaler_skips(const struct hc_scaler_update *p, const int32_t *counts)
{
    return p->skip_on_overflow || (p->wait_for_first_step && counts[HC_COUNT_TAKEN] == 0);
}

/* Element i of overflow_verdict, before the step. */
HC_INLINE float hc_scaler_verdict(const struct hc_scaler_update *p, float scale,
                                  const int32_t *counts, int found_inf, int i)
{
    int overflowed = hc_scaler_overflowed(p, scale, found_inf);
    return overflowed && (i == HC_VERDICT_OVERFLOWED || hc_scaler_skips(p, counts)) ? 1 : 0;
}

HC_INLINE void hc_scaler_step(const struct hc_scaler_update *p, float *scale, int32_t *counts,
                              int found_inf)
{
    counts[HC_COUNT_STEPS]++;
    counts[HC_COUNT_FOUND] += found_inf;
    if (hc_scaler_overflowed(p, *scale, found_inf)) {
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
