/* Batch statistics of one channel. */
#ifndef HC_REFERENCE_NORM_H
#define HC_REFERENCE_NORM_H

#include "reference/split.h"

/* Elements per channel of a tensor whose last dimension is the channel. */
int64_t hc_channel_length(const struct hc_tensor *x);

/* mean = sum x / M, variance = sum (x - mean)^2 / M over channel c. */
void hc_moments(mpfr_t mean, mpfr_t variance, const struct hc_tensor *x, int64_t c);

#endif
