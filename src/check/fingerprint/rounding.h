/* How many bits an addition keeps, and what becomes of the others. */
#ifndef HC_CHECK_FINGERPRINT_ROUNDING_H
#define HC_CHECK_FINGERPRINT_ROUNDING_H

#include "check/fingerprint/probe.h"

/* Sets products, addend and result of findings that have their order. The status of a call. */
enum hc_status hc_find_rounding(struct hc_probe *probe, struct hc_findings_of_shape *found);

#endif
