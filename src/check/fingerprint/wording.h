/* The words for single findings, added to a text that is cut where the room ends. */
#ifndef HC_CHECK_FINGERPRINT_WORDING_H
#define HC_CHECK_FINGERPRINT_WORDING_H

#include <stddef.h>

#include "check/fingerprint/fingerprint.h"

/* Where the next words go. */
struct hc_wording {
    char *at;
    size_t room;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_wording_add(struct hc_wording *t, const char *format, ...);

/* `brief`: as in the fingerprint's one line. */
void hc_wording_order(struct hc_wording *t, bool brief, const struct hc_findings_of_shape *f);
void hc_wording_grid(struct hc_wording *t, const struct hc_found_grid *g);
void hc_wording_small(struct hc_wording *t, const struct hc_findings_of_shape *f);
void hc_wording_nan(struct hc_wording *t, const struct hc_findings_of_shape *f);
void hc_wording_overflow(struct hc_wording *t, const struct hc_findings_of_shape *f);
void hc_wording_zero(struct hc_wording *t, const struct hc_findings_of_shape *f);
const char *hc_wording_c(const struct hc_findings_of_shape *f);

#endif
