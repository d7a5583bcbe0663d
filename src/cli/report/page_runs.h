/* How the records of a page were made. */
#ifndef HC_CLI_REPORT_PAGE_RUNS_H
#define HC_CLI_REPORT_PAGE_RUNS_H

#include <stdio.h>

#include "cli/report/page_record.h"

/* Writes a warning for each part of a record that was cut short or has a planted fault. */
void hc_page_warn(FILE *out, const struct hc_page_record *records, int count);

/* Writes a table of the parts: level, seed, patterns, backends, command line. */
void hc_page_write_runs(FILE *out, const struct hc_page_record *records, int count);

#endif
