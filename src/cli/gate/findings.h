/* What a comparison of two records finds. Findings are kept until all are there, and then
   printed by kind, with those that are alike together. */
#ifndef HC_CLI_GATE_FINDINGS_H
#define HC_CLI_GATE_FINDINGS_H

#include <stdbool.h>

#include "check/record/record.h"
#include "cli/command.h"

/* First the kinds that are worse, then those that could not be compared. */
enum hc_finding_kind {
    HC_FINDING_VERDICT,
    HC_FINDING_ERROR,
    HC_FINDING_BOUND,
    HC_FINDING_CHECKED,
    HC_FINDING_MISSING,
    HC_FINDING_SEED,
    HC_FINDING_LEVEL,
    HC_FINDING_UNIT,
    HC_FINDING_MACHINE,
    HC_FINDING_UNKNOWN,
    HC_FINDING_KINDS
};

struct hc_finding {
    enum hc_finding_kind kind;
    const struct hc_row *row;
    char *text;
};

struct hc_findings {
    struct hc_finding *all;
    int count;
    int room;       /* for so many */
    bool no_memory; /* there was no memory to keep one */
    bool allowed[HC_FINDING_KINDS];
};

/* Allows the kinds with these names. HC_INVALID, with a line, if a name is unknown or its kind
   may not be allowed. */
enum hc_status hc_findings_allow(struct hc_findings *findings, const struct hc_words *kinds);

/* Adds a finding about a row, which must outlive it; or sets `no_memory`. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void hc_findings_add(struct hc_findings *findings, enum hc_finding_kind kind,
                     const struct hc_row *row, const char *format, ...);

/* Prints them on stdout. Of many that are alike only some are printed and the others counted,
   unless `every` is set. */
void hc_findings_print(struct hc_findings *findings, bool every);

/* How many are worse, or (`worse` is false) could not be compared. Those that are allowed do not
   count. */
int hc_findings_count(const struct hc_findings *findings, bool worse);

/* "2 bound, 1 verdict": the counts of hc_findings_count by kind; and those of the findings that are
   allowed. */
void hc_findings_say(const struct hc_findings *findings, bool worse, char *text, size_t bytes);
void hc_findings_say_allowed(const struct hc_findings *findings, char *text, size_t bytes);

void hc_findings_free(struct hc_findings *findings);

#endif
