/* All pictures of the page. */
#ifndef HC_CLI_REPORT_PAGE_DRAW_H
#define HC_CLI_REPORT_PAGE_DRAW_H

#include "cli/report/page_cases.h"
#include "cli/report/page_picture.h"

struct hc_page_pictures {
    struct hc_page_picture *list; /* of all results; cli/report/page_picture.h */
    int count;
    struct hc_drawn *cases; /* cli/report/page_cases.h */
    char why_not[HC_WHY_NOT];
};

/* Draws all pictures, of which the baseline, the last record if there is one, has only those that
   compare. It does so with the help of files in `folder`, which it removes again. If that fails the
   pictures say why, and why_not does. */
void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures);
void hc_page_free_pictures(struct hc_page_pictures *pictures);

#endif
