/* Roundings put into a network in fp64, one call at a time. */
#ifndef HC_TRAIN_DRIFT_ROUNDING_H
#define HC_TRAIN_DRIFT_ROUNDING_H

#include "train/device.h"
#include "train/drift.h"

/* Each value is rounded where it is read, in place: so every reader sees the same. */
struct hc_rounder {
    const struct hc_rounding *rounding;
    bool backward; /* the loss has been reached */
};

/* Makes the device round as the rounder says; a pass begins with backward = false. */
void hc_rounder_attach(struct hc_rounder *rounder, struct hc_device *device);

/* n numbers rounded to nearest in place; HC_FP64: nothing. */
void hc_rounded(enum hc_format format, double *x, int64_t n);

#endif
