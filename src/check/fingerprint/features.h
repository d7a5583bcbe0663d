/* How many bits an addition keeps and how it rounds the others; and what happens to numbers at
   the ends of the range. */
#ifndef HC_CHECK_FINGERPRINT_FEATURES_H
#define HC_CHECK_FINGERPRINT_FEATURES_H

#include "check/fingerprint/probe.h"

/* Sets products, addend and result of findings that have their order. The status of a call. */
enum hc_status hc_find_rounding(struct hc_probe *probe, struct hc_findings_of_shape *found);

/* Sets the subnormals, NaNs, overflow and zero exponent of findings that have order and rounding.
   The status of a call. */
enum hc_status hc_find_features(struct hc_probe *probe, struct hc_findings_of_shape *found);

#endif
