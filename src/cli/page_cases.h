/* The pictures of the cases, on the page of `halfcheck report`. */
#ifndef HC_CLI_PAGE_CASES_H
#define HC_CLI_PAGE_CASES_H

#include <stdio.h>

#include "cli/page.h"

/* A picture, and the results that it is the picture of. */
struct hc_drawn {
    struct hc_drawn *next;
    const struct hc_row *row; /* the first of them */
    const json_t *picture;
    char *where; /* the records' and backends' names */
    char *svg;
};

/* Draws each picture of each case, once where several results have the same, in `folder`, whose files
   it removes again. Where gnuplot fails, what it said is in *why_not, and no more is drawn. */
struct hc_drawn *hc_page_draw_cases(const struct hc_page_record *records, int count,
                                    const char *folder, const char **why_not);

void hc_page_put_cases(FILE *out, const struct hc_drawn *drawn);
void hc_page_free_cases(struct hc_drawn *drawn);

#endif
