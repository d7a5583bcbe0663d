/* What is the same in the findings of two shapes, part by part. hc_findings_equal (fingerprint.h)
   is all of it. */
#ifndef HC_CHECK_FINGERPRINT_FINDINGS_H
#define HC_CHECK_FINGERPRINT_FINDINGS_H

#include "check/fingerprint/fingerprint.h"

/* Whether products are aligned, or added exactly, a piece at a time. */
bool hc_is_pieces(const struct hc_findings_of_shape *f);

bool hc_same_grid(const struct hc_found_grid *a, const struct hc_found_grid *b);
bool hc_same_nan(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b);
bool hc_same_small(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b);
bool hc_same_zero(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b);

#endif
