/* A baseline is a record that is small enough to be committed: text, sorted, a case a line, so that
   a difference between two of them can be read. docs/records.md shows one. It has what a gate
   compares: verdicts, counts, errors, bounds and digests, and how and where they were measured. It
   has no pictures, no times, and no notes of results that passed.

     halfcheck baseline 2
     backend e "exact"                 a letter for each backend,
     backend h "host"
     unit a "abs"                      and for each unit
     digits 4                          of errors and bounds, which are rounded up
     usual eh                          the backends of an entry that names none
     environment.cpu "Xeon"            the document's other members: a path and JSON. An object has
     run.level "standard"              a line for each member, three levels deep, and a list of
     runs[] {"recipe":"amp"}           objects one for each element
     results 3                         so many follow
     op                                names, indented by where their slashes are
      sum
       fp32 257,514a @40/257+3*257 29/31e-4 AbC_
       fp16 e 257a 3e-5/31e-4 -  h 514a 4e-5/ AbC_ FAIL "a note"
     end 3

   An entry is: letters of backends, unless they are the usual ones; how many comparisons were made,
   one number for all backends or one for each, and the unit's letter; behind a "@" what MPFR
   judged, one for all backends or one for each: elements, of how many, +how many of them are
   special, *how large the largest call was (hc_baseline_print_sight; version 1 has none);
   error/bound, unless both are 0; the digest's upper 24 bits in 4 characters (RFC 4648, base64url),
   or "-", one for all backends or one for each. An error without an exponent has the bound's. A
   bound that is left out is that of the entry before it. Behind the last entry of a line may stand
   a verdict other than PASS, with a colon and how many comparisons fail if any do, and its note. A
   merged record has `part "name"` before each part's members and results. In names and paths "%2e"
   stands for a byte that cannot be written there. */
#ifndef HC_CHECK_RECORD_BASELINE_H
#define HC_CHECK_RECORD_BASELINE_H

#include "check/record/record.h"

#define HC_BASELINE_MAGIC  "halfcheck baseline "
#define HC_BASELINE_ENDING ".baseline" /* of its file's name */

enum {
    HC_BASELINE_VERSION = 2,
    HC_BASELINE_DIGITS = 4,
    HC_BASELINE_DIGEST = 24, /* bits: a chance hit has a probability of 6e-8 */
    HC_BASELINE_DEPTH = 24,  /* slashes in a name, at most */
    HC_BASELINE_NAME = 1024  /* bytes of a name */
};

/* Replaces the file in one step (op/output.h). HC_INVALID if the record cannot be written as a
   baseline: an older one that does not say how it was made, or one of more than 26 backends. HC_IO;
   HC_NO_MEMORY. */
enum hc_status hc_baseline_write(const struct hc_record *record, const char *path);

/* Reads a baseline, which messages call `name`, into a record's document. It is what hc_record_read
   calls; nothing else of the document is checked than that it can be made. HC_INVALID with the
   line's number; HC_NO_MEMORY. */
enum hc_status hc_baseline_parse(const char *name, const char *text, size_t bytes,
                                 json_t **document);

/* Whether a file with these first bytes is a baseline. */
bool hc_baseline_begins(const char *text, size_t bytes);

#endif
