/* Roundings put into a training in fp64, one call at a time.

   The rounder takes the place of every kernel (hc_device's `override`). It rounds a value where it
   is read, in place, so that every reader sees the same rounded number; and it carries out whole
   ops in the arithmetic that a source stands for, on narrow copies of their tensors. */
#ifndef HC_TRAIN_DRIFT_DRIFT_ROUNDING_H
#define HC_TRAIN_DRIFT_DRIFT_ROUNDING_H

#include "train/drift/drift.h"
#include "train/update/update.h"

struct hc_rounder {
    struct hc_device *device;
    struct hc_rounding rounding;
    bool backward; /* the pass has gone beyond the loss: values are gradients now */

    /* The training's, to find out whose weights an optimizer's call updates. Its recipe keeps
       parameters `apart`, so that a call is about one of them. */
    struct hc_parameter *const *parameters;
    const struct hc_update *update;

    struct {
        void *data;
        size_t bytes;
    } buffer[2];
};

/* Makes rounder->device round as the rounder says. Before each pass, set backward to false.
   hc_rounder_end frees its buffers. */
void hc_rounder_attach(struct hc_rounder *rounder);
void hc_rounder_end(struct hc_rounder *rounder);

/* Rounds n numbers to nearest in place, by the backend's cast there and back. HC_FP64 rounds
   nothing. */
enum hc_status hc_rounded(struct hc_rounder *rounder, enum hc_format format, double *x, int64_t n);

#endif
