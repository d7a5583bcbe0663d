/* Which source of rounding makes how much of a recipe's drift. */
#ifndef HC_TRAIN_DRIFT_DRIFT_ATTRIBUTE_H
#define HC_TRAIN_DRIFT_DRIFT_ATTRIBUTE_H

#include "train/drift/drift_baseline.h"

/* Measures each source alone and all but each, beside the recipe's own run. What a unit does is the
   distance between that and the run with all sources but the unit. */
enum hc_status hc_drift_attribute(struct hc_drift_baseline *baseline,
                                  const struct hc_drift_scales *scales,
                                  const struct hc_native_run *native, struct hc_drift *drift);

/* Shares out what was measured by hc_drift_attribute (hc_drift_measure_shares). */
enum hc_status hc_drift_share_out(struct hc_drift_baseline *baseline,
                                  const struct hc_drift_scales *scales,
                                  const struct hc_drift *drift, const struct hc_drift_shares *like,
                                  struct hc_drift_shares shares[HC_DRIFT_QUANTITIES]);

#endif
