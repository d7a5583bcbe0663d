/* The inside of reading a baseline (baseline.h). */
#ifndef HC_CHECK_RECORD_BASELINE_PARSE_H
#define HC_CHECK_RECORD_BASELINE_PARSE_H

#include "check/record/baseline.h"

enum { HC_BASELINE_LETTERS = 128 };

struct hc_baseline_parser {
    const char *name; /* of the file */
    char *at;         /* the rest of the text, in which lines become strings */
    char *end;
    int64_t line; /* its number, from 1 */
    enum hc_status status;
    json_t *document;
    json_t *section; /* whose members are read: the document, or a part of it */
    json_t *results;
    json_t *texts; /* keeps those of the two tables, by letter */
    const json_t *backends[HC_BASELINE_LETTERS];
    const json_t *units[HC_BASELINE_LETTERS];
    char usual[32];
    int digits;
    bool whole; /* the document has results of its own, so that no parts follow */

    /* Of the results that are read now. */
    uint64_t seed;
    const char *level;                /* NULL: none */
    int depth;                        /* of the line before; -1: none */
    size_t length[HC_BASELINE_DEPTH]; /* of the path to each depth, without a slash */
    char path[HC_BASELINE_NAME];
};

/* Ends the reading with those words, unless it has ended already; false. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool hc_baseline_wrong(struct hc_baseline_parser *p, const char *format, ...);

/* The text of a letter, or NULL. */
const char *hc_baseline_letter(const json_t *const table[], char letter);

/* Reads the line of a folder or of a case, and adds its results; false if it is wrong. */
bool hc_baseline_read_case(struct hc_baseline_parser *p, char *line);

#endif
