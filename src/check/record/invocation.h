/* How the results of a record came about: its member "run",
     {"command": ["halfcheck", "run", ...],   the words of the command line
      "patterns": ["rounding", ...],          globs over case names; [] if all cases were to run
      "level": "standard",                    null if there are no levels (trainings, benches)
      "seed": "0",
      "backends": ["exact", ...],             those that it was to run on
      "faults": ["name", ...],                defects that were planted on purpose
      "cut": null,                            or why it ended early, in words
      "bits_only": true,                      nothing was compared; absent otherwise
      "ranks": 4,                             processes that shared it; absent if there was one
      "shard": {"index": 3, "of": 16, "plan": "16 hex digits"}}   absent if nothing was parted;
                                              shards of one plan belong together (shard.h) */
#ifndef HC_CHECK_RECORD_INVOCATION_H
#define HC_CHECK_RECORD_INVOCATION_H

#include <jansson.h>

#include "backend.h"
#include "check/record/shard.h"

struct hc_invocation {
    const char *const *command; /* ends with NULL */
    const char *const *patterns;
    int pattern_count;
    const char *level; /* NULL: none */
    uint64_t seed;
    const struct hc_backend *const *backends;
    int backend_count;
    const char *fault;            /* NULL: none */
    bool bits_only;               /* nothing was compared */
    const char *cut;              /* NULL: it was not */
    int ranks;                    /* that shared it; 0 or 1: one */
    const struct hc_shard *shard; /* NULL: it was not parted */
};

/* Sets the member in the record. Everything is copied. */
void hc_record_set_invocation(json_t *record, const struct hc_invocation *run);

#endif
