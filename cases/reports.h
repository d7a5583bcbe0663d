/* All reports from the field: those that are rows of HC_BUG, the further ones of such a row, and
   those that stand in cases/field/reports.def. */
#ifndef HC_CASES_REPORTS_H
#define HC_CASES_REPORTS_H

#include "check/check.h"

/* A report. A row's slug is the last part of its case's name. */
struct hc_report {
    const char *slug;
    const char *source;
    const struct hc_case *shown_by; /* NULL: left out, */
    const char *reason;             /* for this reason; NULL otherwise */
};

/* Whether it is a row, whose case is named after it. */
bool hc_report_is_named(const struct hc_report *report);

/* All reports sorted by slug; *n becomes their number. NULL, with a line and *n = 0, if there is no
   memory or if reports.def names a case that does not exist. */
const struct hc_report *hc_reports(int *n);

/* Whether both are one public report: a report may show several bugs, and a bug several times. */
bool hc_report_is_same(const struct hc_report *a, const struct hc_report *b);

/* The report of that slug, or NULL. */
const struct hc_report *hc_report_by_slug(const char *slug);

#endif
