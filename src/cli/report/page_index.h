/* The reports from the field that have no piece of their own in the museum. */
#ifndef HC_CLI_REPORT_PAGE_INDEX_H
#define HC_CLI_REPORT_PAGE_INDEX_H

#include "cli/report/page_out.h"
#include "cli/report/page_record.h"

/* Writes the reports that cases of other components show, by component, with their verdicts in the
   records; and then those that are left out, with the reasons. */
void hc_page_write_index(struct hc_page_out *out, const struct hc_page_record *records, int count);

#endif
