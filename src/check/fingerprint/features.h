/* How many bits an addition keeps and how it rounds the others; what happens to numbers at the ends
   of the range; and sums that tell units from each other (vectors.c). */
#ifndef HC_CHECK_FINGERPRINT_FEATURES_H
#define HC_CHECK_FINGERPRINT_FEATURES_H

#include "check/fingerprint/probe.h"

/* Sets products, addend and result of findings that have their order. The status of a call. */
enum hc_status hc_find_rounding(struct hc_probe *probe, struct hc_findings_of_shape *found);

/* Sets the subnormals, NaNs, overflow and zero exponent of findings that have order and rounding.
   The status of a call. */
enum hc_status hc_find_features(struct hc_probe *probe, struct hc_findings_of_shape *found);

/* Adds `count` sums, the same ones for the same format, number of terms and takes_c. They are of
   nine kinds in turn: full sums of near and of far exponents, sums that cancel, few products about
   as far apart as alignments reach, ties of the result, numbers at the lower end of the range, and
   the very last bit, zeros of both signs, and infinities, NaNs and overflows. */
void hc_vectors_add(struct hc_probe *probe, int count);

#endif
