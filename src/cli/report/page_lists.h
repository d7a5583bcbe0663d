/* The lists of results: what failed, what was not checked, and what passed. */
#ifndef HC_CLI_REPORT_PAGE_LISTS_H
#define HC_CLI_REPORT_PAGE_LISTS_H

#include "cli/report/page_out.h"
#include "cli/report/page_results.h"

/* Every failure with its numbers and the command that repeats it, as long as they fit; of a family
   with many, the worst, and how to repeat all. */
void hc_page_write_failures(struct hc_page_out *out, const struct hc_page_record *records,
                            int count, const struct hc_page_results *results);

/* What was neither right nor wrong, with the reasons. */
void hc_page_write_not_checked(struct hc_page_out *out, const struct hc_page_record *records,
                               int count, const struct hc_page_results *results);

/* A row for each family. */
void hc_page_write_passes(struct hc_page_out *out, const struct hc_page_record *records, int count,
                          const struct hc_page_results *results);

#endif
