/* The page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_H
#define HC_CLI_REPORT_PAGE_H

#include <stdio.h>

#include "check/record/record.h"

/* A record and its name on the page. */
struct hc_page_record {
    const char *name;
    struct hc_record record;
};

enum { HC_WHY_NOT = 512 };

/* Pictures as SVG text; NULL if there is none. */
struct hc_page_pictures {
    char *headroom;           /* error/bound of every result */
    char *answers;            /* shares of the implementation and of the format */
    struct hc_drawn *cases;   /* cli/report/page_cases.h */
    char why_not[HC_WHY_NOT]; /* "" if all were drawn */
};

void hc_page_write(FILE *out, const struct hc_page_record *records, int count,
                   const struct hc_page_pictures *pictures);

/* The text of a file from its <svg on, for the caller to free; NULL if it has none. */
char *hc_page_read_svg(const char *path);

/* Draws all pictures, with the help of files in `folder`, which it removes again. If that fails the
   pictures are NULL and why_not says why. */
void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures);

#endif
