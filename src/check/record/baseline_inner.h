/* The inside of writing a baseline (baseline.h). */
#ifndef HC_CHECK_RECORD_BASELINE_INNER_H
#define HC_CHECK_RECORD_BASELINE_INNER_H

#include <stdio.h>

#include "check/record/record.h"

enum { HC_BASELINE_BACKENDS = 27 };

/* Texts with a letter each. The backend "-" is its own letter. */
struct hc_letters {
    const char *text[HC_BASELINE_BACKENDS];
    char letter[HC_BASELINE_BACKENDS];
    int count;
};

/* The rows of a case that stand in one entry, and the letters of their backends. */
struct hc_baseline_entry {
    const struct hc_row *row[HC_BASELINE_BACKENDS];
    char letters[HC_BASELINE_BACKENDS + 1];
    int count;
};

struct hc_baseline_writer {
    FILE *out;
    const struct hc_record *record;
    struct hc_letters backends;
    struct hc_letters units;
    char usual[HC_BASELINE_BACKENDS + 1];
    const char *above; /* the name of the case before; NULL: none */
};

/* Gives the text a letter, its first one if that is free; false if none is. Its letter, or 0. */
bool hc_letters_add(struct hc_letters *letters, const char *text);
char hc_letters_of(const struct hc_letters *letters, const char *text);

/* The entries of `count` rows, all of one case: those with the same numbers stand together. */
int hc_baseline_group(const struct hc_baseline_writer *w, const struct hc_row *const *rows,
                      int count, struct hc_baseline_entry *entries);

/* Prints an entry; `before` is a row of the one before it on the line, or NULL. */
void hc_baseline_print_entry(const struct hc_baseline_writer *w, const struct hc_baseline_entry *e,
                             const struct hc_row *before);

#endif
