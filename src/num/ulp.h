/* Distances between values of one format. */
#ifndef HC_NUM_ULP_H
#define HC_NUM_ULP_H

#include <stdint.h>

#include "num/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The distance between neighbours at |value| in the format: 2^(max(exponent, emin) - precision +
   1). Beyond the largest finite value it is the distance at that value. NaN for NaN. */
double hc_ulp(enum hc_format format, double value);

/* Half of that, which is the most that rounding to nearest loses. For 0 it is half of the smallest
   number. It is rounded up to a number of fp64, which holds its own smallest one but not half of
   it. */
double hc_half_ulp(enum hc_format format, double value);

/* How many values of the format further the one encoding lies than the other. NaN is 0 from NaN and
   UINT64_MAX from anything else. Infinity is 1 from the largest finite value. +0 is 0 from -0:
   compare bits where the sign of zero matters. */
uint64_t hc_ulp_distance(enum hc_format format, uint64_t want, uint64_t got);

#ifdef __cplusplus
}
#endif

#endif
