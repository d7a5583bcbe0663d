/* A fingerprint as JSON. */
#ifndef HC_CLI_FINGERPRINT_DOCUMENT_H
#define HC_CLI_FINGERPRINT_DOCUMENT_H

#include <jansson.h>

#include "check/fingerprint/fingerprint.h"

/* {"backend", "format", "text", "findings": {name: value, ...}, "equals": [...], "sums",
   "follows", "nearest": null or {"model", "different", "want", "got"}, "accumulator": null or
   {...}, "calls"}. */
json_t *hc_fingerprint_document(const char *backend, const struct hc_fingerprint *fingerprint);

#endif
