/* The pictures of the cases, on the page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_CASES_H
#define HC_CLI_REPORT_PAGE_CASES_H

#include <stdio.h>

#include "cli/report/page.h"

/* A picture, and the results that it is the picture of. */
struct hc_drawn {
    struct hc_drawn *next;
    const struct hc_row *row; /* the first of them */
    const json_t *picture;
    char *where; /* the records' and backends' names */
    char *svg;
    char why_not[HC_WHY_NOT]; /* where svg is NULL */
};

/* Draws each picture of each case, once where several results have the same, in `folder`, whose
   files it removes again. Where one cannot be drawn it says so in its place; where none can,
   why_not says why. */
struct hc_drawn *hc_page_draw_cases(const struct hc_page_record *records, int count,
                                    const char *folder, char why_not[HC_WHY_NOT]);

void hc_page_write_cases(FILE *out, const struct hc_drawn *drawn);
void hc_page_free_cases(struct hc_drawn *drawn);

#endif
