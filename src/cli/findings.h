/* What a comparison of two records finds, kept until it is printed: by kind, and what is alike
   together. */
#ifndef HC_CLI_FINDINGS_H
#define HC_CLI_FINDINGS_H

#include <stdbool.h>

#include "check/record.h"
#include "cli/command.h"

/* First what is worse, then what could not be compared. */
enum hc_find {
    HC_FIND_VERDICT,
    HC_FIND_ERROR,
    HC_FIND_BOUND,
    HC_FIND_CHECKED,
    HC_FIND_MISSING,
    HC_FIND_SEED,
    HC_FIND_LEVEL,
    HC_FIND_UNIT,
    HC_FIND_MACHINE,
    HC_FIND_UNKNOWN,
    HC_FINDS
};

struct hc_finding {
    enum hc_find kind;
    const struct hc_row *row;
    char *text;
};

struct hc_findings {
    struct hc_finding *all;
    int count;
    int room;
    bool lost; /* there was no memory to keep one */
    bool allowed[HC_FINDS];
};

/* Lets the kinds of these names be found without harm. HC_INVALID with a line where there is none
   of that name, or where it may not be allowed. */
enum hc_status hc_findings_allow(struct hc_findings *findings, const struct hc_words *kinds);

/* Keeps a finding about a row; the row outlives it. Sets `lost` where there is no memory. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void hc_find(struct hc_findings *findings, enum hc_find kind, const struct hc_row *row,
             const char *format, ...);

/* Prints them on stdout; of more than a few alike just how many, unless `every` one is wanted. */
void hc_findings_print(struct hc_findings *findings, bool every);

/* How many are worse or (not `worse`) could not be compared, those that are allowed left out. */
int hc_findings_count(const struct hc_findings *findings, bool worse);

/* "2 bound, 1 verdict": how many of each kind that is worse or not comparable, and not allowed; or,
   of all, those that are. */
void hc_findings_say(const struct hc_findings *findings, bool worse, char *text, size_t bytes);
void hc_findings_say_allowed(const struct hc_findings *findings, char *text, size_t bytes);

void hc_findings_free(struct hc_findings *findings);

#endif
