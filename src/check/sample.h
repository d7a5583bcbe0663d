/* Which elements of an output are compared with the reference. */
#ifndef HC_CHECK_SAMPLE_H
#define HC_CHECK_SAMPLE_H

#include "check/compare.h"

/* How many of an output's `count` elements: all of a short vector, or as many as the level and the
   length of the sums allow. */
int64_t hc_sample_size(const struct hc_claim *claim, int64_t count);

/* Chooses up to n different elements of an output, in rising order: all of them if n is their
   count; else the first and the last, up to n / 4 special ones, and one at random from each of as
   many equal stretches as are left. The seed is the run's and the case's. Returns how many. */
int64_t hc_sample(const struct hc_claim *claim, int out, int64_t n, int64_t *index);

/* Whether the element says something about special values: it is infinite, NaN, subnormal or -0, or
   so is an input at the same index, where the op computes element by element. */
bool hc_sample_special(const struct hc_claim *claim, int out, int64_t i);

#endif
