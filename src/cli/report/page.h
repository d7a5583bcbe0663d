/* The page of `halfcheck report`: what a record says becomes the data that reports/page.html, or
   reports/page.markdown, is filled in with (cli/report/template.h). */
#ifndef HC_CLI_REPORT_PAGE_H
#define HC_CLI_REPORT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/gate/gate.h"
#include "cli/picture/pictures.h"

/* A comparison with a baseline that was made. */
struct hc_page_baseline {
    const char *path; /* of the baseline */
    const struct hc_gate *gate;
};

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
