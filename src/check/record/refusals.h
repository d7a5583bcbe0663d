/* The calls that a run's backends took and refused, in its record, so that a merge sees what no
   shard can: a call that one took and another, which differs in nothing but its numbers, that was
   refused elsewhere (check/omissions.h).

     "calls": [{"backend": NAME, "alike": 1, "key": HEX, "taken": N, "refused": N, "why": TEXT,
                "taker": CASE, "refuser": CASE}, ...]

   The cases are the first by name, and are absent where there is none. */
#ifndef HC_CHECK_RECORD_REFUSALS_H
#define HC_CHECK_RECORD_REFUSALS_H

#include <jansson.h>

#include "check/omissions.h"

/* The sets that are alike in as much as `from`, or in more, by backend and key. NULL where there is
   no memory. */
json_t *hc_calls_json(const struct hc_omissions *all, enum hc_alike from);

/* Judges the calls of all parts of a merged document together. For each set that was taken in one
   part and refused in another, the case that was refused becomes a FAIL of the part that it was
   refused in. Returns how many there are; `text` then says so, and names the first. */
int hc_refusals_judge(json_t *document, char *text, size_t bytes);

#endif
