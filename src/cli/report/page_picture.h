/* The pictures of the page of `halfcheck report`. Each answers a question. */
#ifndef HC_CLI_REPORT_PAGE_PICTURE_H
#define HC_CLI_REPORT_PAGE_PICTURE_H

#include "cli/report/page_record.h"

/* All texts are plain: no markup but that of `svg`. */
struct hc_page_picture {
    const char *id;       /* unique on the page; letters, digits and '-' */
    const char *question; /* the heading: "How close to its bound is each family?" */
    char *answer;         /* the caption, which says the answer from the data */
    char *alt;            /* the picture in words */
    char *svg;  /* role=img, its ids begin with `id`, its colours are hc_page_picture_colours' */
    char *data; /* what was drawn, in columns with tabs between and one line of names, at most
                   HC_PICTURE_DATA bytes: if there is more, the first rows, and a line says so */
    const char *command; /* what draws it again */
    char *why_not;       /* if svg is NULL: why it is not drawn */
};

enum { HC_PICTURE_DATA = 40000 };

/* Draws the pictures of the records, with the help of files in `folder`, which it removes again. A
   picture without data is not drawn, and says why. HC_NO_MEMORY, with an empty list;
   HC_UNSUPPORTED if there is no gnuplot, HC_IO if it failed, and no picture could be drawn. */
enum hc_status hc_page_pictures_draw(const struct hc_page_record *records, int count,
                                     const char *folder, struct hc_page_picture **list, int *n);
void hc_page_pictures_free(struct hc_page_picture *list, int n);

/* CSS: the variables of the pictures' colours, for light and for dark. Every colour of an svg is
   `var(--hc-NAME, #rrggbb)`, so that it also stands without this. */
extern const char *const hc_page_picture_colours;

#endif
