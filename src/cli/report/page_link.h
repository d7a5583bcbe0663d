/* Addresses in the texts of the page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_LINK_H
#define HC_CLI_REPORT_PAGE_LINK_H

#include <stdio.h>

/* Writes a text escaped. Addresses in it that begin with http:// or https:// become links. */
void hc_page_write_linked(FILE *out, const char *text);

#endif
