/* The page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_H
#define HC_CLI_REPORT_PAGE_H

#include <stdio.h>

#include "cli/report/page_draw.h"

void hc_page_write(FILE *out, const struct hc_page_record *records, int count,
                   const struct hc_page_pictures *pictures);

#endif
