#include "train/drift/drift_attribute.h"

#include <math.h>

#include "train/drift/drift_sources.h"

/* Whether products go where nobody says how they are summed. Those in fp64 do not. */
static bool unit_is_unknown(const struct hc_backend *backend, const struct hc_drift *drift)
{
    return !drift->unit && backend->free_order && drift->recipe->model != HC_FP64;
}

/* Whether the recipe has this source of rounding at all, on this backend and over these ranks. */
static bool is_source(const struct hc_drift *drift, int k)
{
    if (k >= HC_SOURCE_CODES && k < HC_SOURCE_ACCUMULATION)
        return hc_rounding_of(drift->recipe).format[k][0] != HC_FP64;
    return k == HC_SOURCE_UNIT ? drift->unit : k != HC_SOURCE_REDUCTION || drift->shards > 1;
}

/* All sources come first, since what differs from that in the update alone has the same gradients
   and finds them in the memo. */
enum hc_status hc_drift_attribute(struct hc_drift_baseline *base,
                                  const struct hc_drift_scales *scales,
                                  const struct hc_native_run *native, struct hc_drift *drift)
{
    enum hc_status status = HC_OK;
    for (int i = 2 * HC_SOURCE_COUNT + 1; i > 0 && status == HC_OK; i--) {
        struct hc_drift_effect effect;
        bool alone = i <= HC_SOURCE_COUNT;
        int k = alone ? i - 1 : i - 1 - HC_SOURCE_COUNT;
        bool unit = k == HC_SOURCE_UNIT;
        if ((unit && alone) || !is_source(drift, k))
            continue;
        struct hc_rounding rounding =
            hc_rounding_chosen(drift->recipe, k, alone, drift->unit, drift->shards > 1);
        bool all = k == HC_SOURCE_COUNT;
        status = hc_baseline_measure(base, &rounding, scales, all || unit ? native : NULL, &effect);
        (alone ? drift->alone_gradient : drift->without_gradient)[k] = effect.gradient;
        (alone ? drift->alone_free : drift->without_free)[k] = effect.distance;
        if (all) {
            drift->alone_gradient[k] = effect.gradient;
            drift->alone_free[k] = effect.distance;
            drift->residual_gradient = effect.residual_gradient;
            drift->residual_free = effect.residual_distance;
        }
        if (unit) {
            drift->alone_gradient[k] = effect.residual_gradient;
            drift->alone_free[k] = effect.residual_distance;
        }
    }
    for (int k = 0; k < HC_SOURCE_COUNT; k++)
        if (!is_source(drift, k)) {
            drift->without_gradient[k] = drift->alone_gradient[HC_SOURCE_COUNT];
            drift->without_free[k] = drift->alone_free[HC_SOURCE_COUNT];
        }
    if (unit_is_unknown(base->options->backend, drift))
        drift->alone_gradient[HC_SOURCE_UNIT] = drift->alone_free[HC_SOURCE_UNIT] = (double)NAN;
    return status;
}
