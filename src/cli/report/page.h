/* The page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_H
#define HC_CLI_REPORT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/report/page_baseline.h"
#include "cli/report/page_draw.h"

/* What the page shows. */
struct hc_page {
    const struct hc_page_record *records;
    int count;
    const struct hc_page_pictures *pictures;
    const struct hc_page_baseline *baseline; /* NULL: none */
};

/* Writes the page, as HTML or as Markdown, which has no pictures. HC_NO_MEMORY. */
enum hc_status hc_page_write(FILE *file, bool markdown, const struct hc_page *page);

#endif
