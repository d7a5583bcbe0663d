/* Roundings put into a training in fp64, one call at a time. */
#ifndef HC_TRAIN_DRIFT_DRIFT_ROUNDING_H
#define HC_TRAIN_DRIFT_DRIFT_ROUNDING_H

#include "train/drift/drift.h"
#include "train/update/update.h"

/* A value is rounded where it is read, in place: so every reader sees the same. */
struct hc_rounder {
    struct hc_device *device;
    struct hc_rounding rounding;
    bool backward; /* the loss has been reached */

    /* Of the training: whose weights an optimizer's call is about (its `apart` is set). */
    struct hc_parameter *const *parameters;
    const struct hc_update *update;

    struct {
        void *data;
        size_t bytes;
    } room[2];
};

/* Makes rounder->device round as the rounder says; a pass begins with backward = false.
   hc_rounder_end gives its room back. */
void hc_rounder_attach(struct hc_rounder *rounder);
void hc_rounder_end(struct hc_rounder *rounder);

/* n numbers rounded to nearest in place, by the backend's cast there and back; HC_FP64: nothing. */
enum hc_status hc_rounded(struct hc_rounder *rounder, enum hc_format format, double *x, int64_t n);

#endif
