/* A sample of a tensor in the backend's memory: blocks that are spread evenly, the same at each
   call.
 */
#ifndef HC_TRAIN_RUN_SAMPLE_H
#define HC_TRAIN_RUN_SAMPLE_H

#include "train/net/device.h"

enum {
    HC_SAMPLE_BLOCKS = 8,
    HC_SAMPLE_BLOCK = 128,
    HC_SAMPLE = HC_SAMPLE_BLOCKS * HC_SAMPLE_BLOCK
};

/* Copies *n values, at most HC_SAMPLE; a tensor that has no more is copied whole. */
enum hc_status hc_sample_draw(const struct hc_device *device, const struct hc_tensor *t,
                              double *values, int *n);

#endif
