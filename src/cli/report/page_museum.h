/* The museum: the bugs from the field that are in the records, by mechanism. */
#ifndef HC_CLI_REPORT_PAGE_MUSEUM_H
#define HC_CLI_REPORT_PAGE_MUSEUM_H

#include <stdbool.h>
#include "cli/report/page_cases.h"
#include "cli/report/page_out.h"

/* Writes a section, or nothing if no result has a bug's table. Of a case that this program knows,
   symptom, source, formulas and lesson are those of its own list of cases; verdicts, tables and
   curves are the records'. */
void hc_page_write_museum(struct hc_page_out *out, const struct hc_page_record *records, int count,
                          const struct hc_drawn *drawn);

#endif
