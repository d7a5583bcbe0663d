/* Addresses in the texts of the page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_LINK_H
#define HC_CLI_REPORT_PAGE_LINK_H

#include "cli/report/page_out.h"

/* Writes a text escaped. Addresses in it that begin with http:// or https:// become links. */
void hc_page_write_linked(struct hc_page_out *out, const char *text);

#endif
