/* Which elements of an output are compared with the reference. */
#ifndef HC_CHECK_SAMPLE_H
#define HC_CHECK_SAMPLE_H

#include "check/compare.h"

/* How many: all of a short vector, or as many as level and length of the sums allow. */
int64_t hc_sample_size(const struct hc_check *check, const struct hc_call *call, int64_t count);

/* `n` different ones in rising order, or a few less: all where n is `count`; else the first and the
   last, up to a quarter of them special, and from each of as many equal stretches as are left one
   at random, by the run's seed and the case's name. Returns how many. */
int64_t hc_sample(const struct hc_claim *claim, int out, int64_t n, int64_t *index);

/* Whether the element says something of special values: it is infinite, NaN, subnormal or a -0, or,
   where results stand where inputs stand, one of the inputs there is. */
bool hc_sample_special(const struct hc_claim *claim, int out, int64_t i);

#endif
