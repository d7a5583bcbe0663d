/* What `halfcheck explain` tells of a case: first what the case says, then what it claims, as one
   table.

   A case may make some ten claims or some million. People read a screen of them. So each claim is
   handed over as data, and the story keeps rows instead of lines:

   - As long as at most 16 names of claims are known, each name is a row. Claims that share a name
     are counted in it, with the range of their numbers and the one that came nearest to its bound.
   - With the 17th name, rows whose names differ in numbers alone are joined: "w after step 1" and
     "w after step 2" become "w after step 1..2".
   - From the 17th row on, further claims are counted in a last row.
   - The words of the first claims that failed are kept, and stand before the table.

   So a story's memory is bounded, whatever a case claims; only what the case says itself is kept in
   full. A story that is to tell everything has no table: each claim is a line, in its place. */
#ifndef HC_CHECK_STORY_STORY_H
#define HC_CHECK_STORY_STORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "num/format.h"
#include "op/status.h"

enum hc_claimed_kind {
    HC_CLAIMED_BITS,   /* two codes of a format are the same */
    HC_CLAIMED_VALUE,  /* two numbers are the same */
    HC_CLAIMED_WITHIN, /* two numbers are within a bound of each other */
    HC_CLAIMED_TRUE,   /* the name of the claim is a sentence, and it holds */
    HC_CLAIMED_SWEEP,  /* many comparisons, of which none fails */
    HC_CLAIMED_SAMPLE, /* elements of an output against MPFR, each within its bound; want and got
                          are those of the element that came nearest to its bound */
};

/* A claim and its result. */
struct hc_claimed {
    enum hc_claimed_kind kind;
    const char *what;
    double want;
    double got;
    double error;
    double bound;
    const char *unit;      /* of both */
    enum hc_format format; /* of the codes of HC_CLAIMED_BITS */
    uint64_t want_bits;
    uint64_t got_bits;
    int64_t checked;   /* comparisons of a sweep or a sample, */
    int64_t of;        /* how many elements a sample's output has */
    int64_t wrong;     /* of these */
    const char *first; /* words about the first that is wrong, or NULL */
    int64_t index;     /* of the element that a sample shows */
};

bool hc_claimed_held(const struct hc_claimed *claimed);

/* The words about a claim that did not hold, as the note of a result has them. */
void hc_claimed_failure(const struct hc_claimed *claimed, char *text, size_t size);

/* The claim as one line, for a story that tells everything. */
void hc_claimed_line(const struct hc_claimed *claimed, char *text, size_t size);

struct hc_story;

/* An empty story; `all`: it tells everything. NULL, with a message, if there is no memory. */
struct hc_story *hc_story_new(bool all);
void hc_story_free(struct hc_story *story);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
void hc_story_say(struct hc_story *story, const char *format, va_list arguments);

void hc_story_claim(struct hc_story *story, const struct hc_claimed *claimed);

/* Prints the story, in lines of at most 80 columns where the case's own lines are no longer. */
void hc_story_print(struct hc_story *story, FILE *out);

#endif
