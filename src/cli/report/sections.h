/* The sections of the page of `halfcheck report`. Each function sets the members that its part of
   the template is filled in with. */
#ifndef HC_CLI_REPORT_SECTIONS_H
#define HC_CLI_REPORT_SECTIONS_H

#include "cli/report/page.h"
#include "cli/report/template.h"

/* What a verdict means for who owns a CI. */
enum hc_page_kind {
    HC_PAGE_FAILED,      /* FAIL, ERROR: a run of it ends with a status of its own */
    HC_PAGE_NOT_CHECKED, /* SKIPPED, UNIMPLEMENTED, MISTRUSTED */
    HC_PAGE_PASSED,
    HC_PAGE_KINDS
};

struct hc_page_result {
    const struct hc_row *row;
    int record; /* its index */
    enum hc_page_kind kind;
    double ratio; /* error/bound */
    int family;   /* the length of the family's name at the beginning of the case's */
};

/* All results: by family ("op/gemm" of op/gemm/fp16/7x9, "eps" of eps/claim), record and backend,
   failures first, and among those of a kind the one that is furthest off. */
struct hc_page_results {
    struct hc_page_result *all;
    int count;
    int kinds[HC_PAGE_KINDS]; /* how many are of each */
    int of_verdict[HC_VERDICT_COUNT];
};

/* HC_NO_MEMORY, with nothing to free. */
enum hc_status hc_page_results_sort(const struct hc_page *page, struct hc_page_results *results);

/* "failures": every one with its numbers and the command that repeats it, as long as they fit; of a
   family with many, the worst, and how to repeat all. "not_checked": what was neither right nor
   wrong, with the reasons. "passed": a row for each family. */
void hc_page_results(json_t *data, const struct hc_page *page,
                     const struct hc_page_results *results, bool markdown);

/* "facts": what was run, where, and how. "warnings": what was cut short or has a planted fault.
   "runs" and "left_out": the parts of each record. "environment" and "backend_facts". "rates". */
void hc_page_runs(json_t *data, const struct hc_page *page);

/* "baseline", and its "groups" of findings. */
void hc_page_baseline(json_t *data, const struct hc_page_baseline *baseline);

/* "bugs" from the field by mechanism, "other_reports", and who "catches" them. "texts": the quotes
   of seeds. If this program knows a case, symptom, source, formulas and lesson are those of its own
   list of cases; verdicts, tables and curves are the records'. */
void hc_page_field(json_t *data, const struct hc_page *page);

#endif
