/* Distances between values of one format. */
#ifndef HC_NUM_ULP_H
#define HC_NUM_ULP_H

#include <stdint.h>

#include "num/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The distance between neighbours at |value| in the format: 2^(max(exponent, emin) - precision +
   1); at and beyond the largest finite value its last one; NaN for NaN. */
double hc_ulp(enum hc_format format, double value);

/* How many steps of the format lie between two encodings. NaN equals NaN (0); a NaN against
   anything else is UINT64_MAX; infinity is one step past the largest finite value; +0 and -0 are
   0 apart, so whoever cares for the sign of zero compares bits. */
uint64_t hc_ulp_distance(enum hc_format format, uint64_t want, uint64_t got);

#ifdef __cplusplus
}
#endif

#endif
