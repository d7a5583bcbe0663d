/* The rates that benches measured. */
#ifndef HC_CLI_REPORT_PAGE_RATES_H
#define HC_CLI_REPORT_PAGE_RATES_H

#include "cli/report/page_out.h"
#include "cli/report/page_record.h"

int hc_page_count_rates(const struct hc_page_record *records, int count);

/* Writes a section, or nothing if no record has rates. */
void hc_page_write_rates(struct hc_page_out *out, const struct hc_page_record *records, int count);

#endif
