/* How the records of a page were made. */
#ifndef HC_CLI_REPORT_PAGE_RUNS_H
#define HC_CLI_REPORT_PAGE_RUNS_H

#include "cli/report/page_out.h"
#include "cli/report/page_record.h"

/* Writes a warning for each part of a record that was cut short or has a planted fault. */
void hc_page_warn(struct hc_page_out *out, const struct hc_page_record *records, int count);

/* Writes a table of the parts: level, seed, patterns, backends, command line. */
void hc_page_write_runs(struct hc_page_out *out, const struct hc_page_record *records, int count);

/* Writes where it was measured, and what the backends say about themselves. */
void hc_page_write_environments(struct hc_page_out *out, const struct hc_page_record *records,
                                int count);

#endif
