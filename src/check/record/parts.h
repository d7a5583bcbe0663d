/* What a record says of how it was made, for those who read it. */
#ifndef HC_CHECK_RECORD_PARTS_H
#define HC_CHECK_RECORD_PARTS_H

#include <stdbool.h>

#include "check/record/record.h"

/* Results that were made in one run. The texts belong to the record. */
struct hc_record_part {
    const char *name; /* "" in a record that was not merged */
    const json_t *environment;
    const json_t *backends; /* check/record/facts.h; NULL: none */
    const json_t *left_out; /* by backend: why it could not run, or what was left out of each
                               component; or NULL */
    const json_t *run;      /* the member (check/record/invocation.h); NULL in older records */
    const json_t *patterns; /* NULL: not known */
    const char *level;      /* NULL: none, or not known */
    const char *cut;        /* NULL: it was not cut short, or that is not known */
    const char *fault;      /* the first one that was planted; NULL: none, or not known */
    const char *plan;       /* of the shards, of which it is number `shard`; NULL: not parted */
    int shard;              /* 1 to shards */
    int shards;
};

/* Finds the parts of a record, and the part of each row; the rows still stand in the file's order.
   Returns what is wrong with the record, or NULL. The caller frees record->parts. */
const char *hc_record_find_parts(struct hc_record *record);

/* Whether a merged record has all shards of the runs that it comes from (check/record/shard.h). */

/* The case, and the part of the record, that say what is missing. */
#define HC_SHARDS_CASE "run/shards"
#define HC_SHARDS_PART "missing shards"

/* Adds a MISTRUSTED result, and a part that it belongs to, to the merged document that `record` was
   read from, if shards are missing from it, or if nothing was checked on a backend that they were
   to run on. A shard of another plan belongs to another run, whose own shards must all be there,
   too. Returns whether something is missing; `text` then says what. */
bool hc_shards_mistrust(json_t *document, const struct hc_record *record, char *text, size_t bytes);

#endif
