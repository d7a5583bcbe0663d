/* Words of a baseline (baseline.h): names in which a few bytes are escaped, and digests. */
#ifndef HC_CHECK_RECORD_BASELINE_TEXT_H
#define HC_CHECK_RECORD_BASELINE_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "check/record/record.h"

/* Prints `length` bytes; those outside '!' to '~', and those in `also`, as %xx. Nothing is printed
   as "%". At the beginning of a line a word with a meaning there, such as "end", has its first byte
   so, too. */
void hc_baseline_escape(FILE *out, const char *text, size_t length, const char *also, bool begins);

/* Replaces the escapes in place. False if one is wrong. */
bool hc_baseline_unescape(char *text);

enum { HC_BASELINE_DIGEST_TEXT = 5 };

/* The upper 24 bits in 4 characters; and back, false if the characters are others. */
void hc_baseline_digest(uint64_t digest, char text[HC_BASELINE_DIGEST_TEXT]);
bool hc_baseline_read_digest(const char *text, uint64_t *digest);

/* What MPFR judged: "3/9+2*18" is 3 of 9 elements, of which 2 were special, in calls of which the
   largest had 18 elements or terms. "9" is all of 9; what is 0 is left out. */
bool hc_baseline_has_sight(const struct hc_row *row);
bool hc_baseline_same_sight(const struct hc_row *a, const struct hc_row *b);
void hc_baseline_print_sight(FILE *out, const struct hc_row *row);

/* Reads `length` bytes of that. False if they are not as it says. */
bool hc_baseline_read_sight(const char *text, size_t length, struct hc_row *row);

/* baseline_members.c: prints the members of an object that are not in `without` (which ends with
   NULL), a line each (false: no memory); and puts such a line, which it changes, into the object.
   What is wrong with the line, or NULL. */
bool hc_baseline_print_members(FILE *out, const json_t *object, const char *const *without);
const char *hc_baseline_read_member(json_t *object, char *line);

#endif
