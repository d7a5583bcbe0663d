/* The pictures of the cases, on the page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_CASES_H
#define HC_CLI_REPORT_PAGE_CASES_H

#include "cli/report/page_record.h"

/* A picture and the results that have it. */
struct hc_drawn {
    struct hc_drawn *next;
    const struct hc_row *row; /* the first of them */
    const json_t *picture;
    char *where; /* the records' and backends' names */
    char *svg;
    char why_not[HC_WHY_NOT]; /* if svg is NULL */
};

/* Draws each picture of each case, and only once if several results have the same one, with the
   help of files in `folder`, which it removes again. If a picture cannot be drawn, its own
   why_not says why; if none can, the last argument does. */
struct hc_drawn *hc_page_draw_cases(const struct hc_page_record *records, int count,
                                    const char *folder, char why_not[HC_WHY_NOT]);

void hc_page_free_cases(struct hc_drawn *drawn);

#endif
