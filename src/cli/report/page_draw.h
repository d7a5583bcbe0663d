/* All pictures of the page. */
#ifndef HC_CLI_REPORT_PAGE_DRAW_H
#define HC_CLI_REPORT_PAGE_DRAW_H

#include "cli/report/page_cases.h"
#include "cli/report/page_record.h"

/* Pictures as SVG text; NULL if there is none. */
struct hc_page_pictures {
    char *headroom;         /* error/bound of every result */
    char *answers;          /* shares of the implementation and of the format */
    struct hc_drawn *cases; /* cli/report/page_cases.h */
    char why_not[HC_WHY_NOT];
};

/* Draws all pictures, with the help of files in `folder`, which it removes again. If that fails the
   pictures are NULL and why_not says why. */
void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures);
void hc_page_free_pictures(struct hc_page_pictures *pictures);

#endif
