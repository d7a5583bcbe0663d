/* How the results of a record came about: its member "run",
     {"command": ["halfcheck", "run", ...],   the words of the command line
      "patterns": ["rounding", ...],          globs over case names; [] where all cases were to run
      "level": "standard",                    null where there are no levels (trainings, benches)
      "seed": "0",
      "backends": ["exact", ...],             those that it was to run on
      "faults": ["name", ...],                defects that were planted on purpose
      "cut": null}                            or why it ended early, in words
   and what a reader makes of it. */
#ifndef HC_CHECK_RECORD_RECORD_RUN_H
#define HC_CHECK_RECORD_RECORD_RUN_H

#include <jansson.h>

#include "check/record/record.h"

struct hc_invocation {
    const char *const *command; /* ends with NULL */
    const char *const *patterns;
    int pattern_count;
    const char *level; /* NULL: none */
    uint64_t seed;
    const struct hc_backend *const *backends;
    int backend_count;
    const char *fault; /* NULL: none */
    const char *cut;   /* NULL: it came to its end */
};

/* Puts the member into the record; all is copied. */
void hc_record_set_invocation(json_t *record, const struct hc_invocation *run);

/* Results that came about in one way. The texts belong to the record. */
struct hc_record_part {
    const char *name; /* "" in a record that was not merged */
    const json_t *environment;
    const json_t *left_out; /* backends that could not run there, and why, and for those that
                               ran, what was left out by component; or NULL */
    const json_t *run;      /* the member, NULL where there is none */
    const json_t *patterns; /* NULL where not known */
    bool has_run;           /* whether it has a member "run": older records have none */
    const char *level;      /* NULL: none, or not known */
    const char *cut;        /* NULL: it came to its end, or that is not known */
    const char *fault;      /* the first one that was planted; NULL: none, or not known */
};

/* Finds the record's parts and the part of each of its rows, which still stand in the file's order.
   What is wrong with its members, or NULL. Asserts that there is memory; the caller frees
   record->parts. */
const char *hc_record_find_parts(struct hc_record *record);

/* Text for JSON: what is no UTF-8 is shown byte by byte. */
json_t *hc_json_text(const char *text);

#endif
