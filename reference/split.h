/* From MPFR to the plain numbers of struct hc_want. */
#ifndef HC_REFERENCE_SPLIT_H
#define HC_REFERENCE_SPLIT_H

#include <mpfr.h>

#include "reference.h"

/* Sets value and rest from x, magnitude to |value| and amplification to 0. */
void hc_split(mpfr_srcptr x, struct hc_want *want);

/* x = the value of element i. */
void hc_load_real(mpfr_t x, const struct hc_tensor *t, int64_t i);

#endif
