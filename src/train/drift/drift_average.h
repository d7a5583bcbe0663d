/* A derived bound on what the average over ranks may do to a gradient. */
#ifndef HC_TRAIN_DRIFT_DRIFT_AVERAGE_H
#define HC_TRAIN_DRIFT_DRIFT_AVERAGE_H

#include "train/drift/drift_baseline.h"

/* Bound on the effect of HC_SOURCE_REDUCTION alone on the gradient, in the unit of
   hc_drift_effect's `gradient`, over any of the steps whose gradients are finite. NaN if no bound
   is known: without shards, in fp64, or if a scale is no power of two. */
double hc_average_bound(const struct hc_drift_baseline *baseline, const struct hc_recipe *recipe,
                        const float *scale);

#endif
