/* The table of a bug in a record:
     "exhibits": [{"name": "w", "buggy_format": "fp16", "format": "fp32", "buggy": "0x1p+0",
                   "fixed": "0x1.cccp-1", "real": "0x1.ccdp-1", "rad": "0x1p-14"}]
   A format is "-" where the value is a count. */
#ifndef HC_CHECK_RECORD_EXHIBITS_H
#define HC_CHECK_RECORD_EXHIBITS_H

#include <jansson.h>

#include "check/story/exhibit.h"

/* An array of the lines, or NULL if there are none; `shown` may be NULL. */
json_t *hc_exhibits_write(const struct hc_exhibits *shown);

/* What is wrong with such an array, or NULL. */
const char *hc_exhibits_wrong(const json_t *exhibits);

/* The lines of an array of which nothing is wrong, and at most HC_MAX_EXHIBITS of them. */
void hc_exhibits_read(const json_t *exhibits, struct hc_exhibits *shown);

#endif
