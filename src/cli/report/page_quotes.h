/* The numbers of texts on the page of `halfcheck report`: the quotes that are in the records. */
#ifndef HC_CLI_REPORT_PAGE_QUOTES_H
#define HC_CLI_REPORT_PAGE_QUOTES_H

#include "cli/report/page_out.h"
#include "cli/report/page_record.h"

/* Writes a section with a table for each text, or nothing if no result is of a quote that this
   program knows. A quote that did not pass in some record says so. */
void hc_page_write_quotes(struct hc_page_out *out, const struct hc_page_record *records, int count);

#endif
