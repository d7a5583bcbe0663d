/* All elements of an output against those of the backend `exact`. */
#ifndef HC_CHECK_AGAINST_H
#define HC_CHECK_AGAINST_H

#include "check/compare.h"

/* For ops whose contract leaves the order of a sum open: got and exact are both right where each
   lies within its own bound of the real value, and so within the sum of both bounds of each other.
   The sums of the magnitudes that the bounds need come from `exact` on the inputs' magnitudes. */
void hc_claim_against(struct hc_claim *claim, int out, const char *what);

#endif
