/* Sums that tell units from each other. */
#ifndef HC_CHECK_FINGERPRINT_VECTORS_H
#define HC_CHECK_FINGERPRINT_VECTORS_H

#include "check/fingerprint/probe.h"

/* Adds `count` sums, the same ones for the same format, number of terms and takes_c. They are of
   nine kinds in turn: full sums of near and of far exponents, sums that cancel, few products about
   as far apart as alignments reach, ties of the result, numbers at the lower end of the range, and
   the very last bit, zeros of both signs, and infinities, NaNs and overflows. */
void hc_vectors_add(struct hc_probe *probe, int count);

#endif
