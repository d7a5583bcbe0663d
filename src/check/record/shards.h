/* Whether a merged record has all shards of the runs that it comes from (check/shard.h). */
#ifndef HC_CHECK_RECORD_SHARDS_H
#define HC_CHECK_RECORD_SHARDS_H

#include <stdbool.h>

#include "check/record/record.h"

/* The case, and the part of the record, that say what is missing. */
#define HC_SHARDS_CASE "run/shards"
#define HC_SHARDS_PART "missing shards"

/* Adds a MISTRUSTED result, and a part that it belongs to, to the merged document that `record` was
   read from, if shards are missing from it, or if nothing was checked on a backend that they were
   to run on. A shard of another plan belongs to another run, whose own shards must all be there,
   too. Returns whether something is missing; `text` then says what. */
bool hc_shards_mistrust(json_t *document, const struct hc_record *record, char *text, size_t bytes);

#endif
