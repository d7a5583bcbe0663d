/* What was run, in a few lines: what, where, when, and what was left out. */
#ifndef HC_CLI_REPORT_PAGE_FACTS_H
#define HC_CLI_REPORT_PAGE_FACTS_H

#include "cli/report/page_out.h"
#include "cli/report/page_record.h"

/* One line for each fact. Where records, or parts of one, differ, it has all their values. */
void hc_page_write_facts(struct hc_page_out *out, const struct hc_page_record *records, int count);

#endif
