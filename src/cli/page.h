/* The page of `halfcheck report`. */
#ifndef HC_CLI_PAGE_H
#define HC_CLI_PAGE_H

#include <stdio.h>

#include "check/record.h"

/* A record and the name that it goes by on the page. */
struct hc_page_record {
    const char *name;
    struct hc_record record;
};

/* Pictures as SVG text, NULL where there is none. */
struct hc_page_pictures {
    char *headroom;         /* error/bound of every result */
    char *answers;          /* shares of the implementation and of the format */
    struct hc_drawn *cases; /* cli/page_cases.h */
    const char *why_not;
};

void hc_page_write(FILE *out, const struct hc_page_record *records, int count,
                   const struct hc_page_pictures *pictures);

/* Text as it stands in HTML. */
void hc_page_escape(FILE *out, const char *text);

/* A file from its <svg on, or NULL. */
char *hc_page_read_svg(const char *path);

/* Draws all in `folder`, whose files it removes again. Where that fails, the pictures are NULL and
   why_not says why, in one line. */
void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures);

#endif
