/* The pictures of the page of `halfcheck report`. Each answers a question.

     drawing    a picture while it is made, and all of them in the order of the page
     families   a chart with a row for each family, of values by family and series (headroom.gp)
     frames     many small frames with the same axes (frames.gp)
     bounds     how close results are to their bounds, whose their error is, what has changed
     spreads    how errors are spread, in ulp and over the inputs
     stalls     updates that stall
     runs       the training runs of records, and the files beside them
     training   accuracy, loss, loss scale, and what is lost on the way
     exponents  whether gradients fit into half's window
     drifts     how far gradients drift from those of fp64, and which roundings make it
     cases      the pictures that cases have put into their results (series.gp)
     svg        what gnuplot drew, made fit for the page */
#ifndef HC_CLI_PICTURE_PICTURES_H
#define HC_CLI_PICTURE_PICTURES_H

#include "check/record/record.h"

/* A record and its name on the page. */
struct hc_page_record {
    const char *name;
    struct hc_record record;
    bool baseline; /* the others are compared with it, and it is not shown by itself */
};

/* Why a picture could not be drawn; "" if it was. HC_PICTURE_DATA bytes of its data are shown. */
enum { HC_WHY_NOT = 512, HC_PICTURE_DATA = 40000 };

/* All texts are plain: no markup but that of `svg`. */
struct hc_page_picture {
    const char *id;       /* unique on the page; letters, digits and '-' */
    const char *question; /* the heading: "How close to its bound is each family?" */
    char *answer;         /* the caption, which says the answer from the data */
    char alt[256];        /* the picture in words */
    char *svg;        /* role=img, its ids begin with `id`, its colours are variables of the page */
    char *data;       /* what was drawn, in columns with tabs between and one line of names, at most
                   HC_PICTURE_DATA bytes: if there is more, the first rows, and a line says so */
    char command[96]; /* what draws it again */
    char *why_not;    /* if svg is NULL: why it is not drawn */
};

/* A picture that a case has put into its results, and the results that have it. */
struct hc_drawn {
    struct hc_drawn *next;
    const struct hc_row *row; /* the first of them */
    const json_t *picture;
    char *where; /* the records' and backends' names */
    char *svg;
    char why_not[HC_WHY_NOT]; /* if svg is NULL */
};

struct hc_page_pictures {
    struct hc_page_picture *list; /* of all results */
    int count;
    struct hc_drawn *cases; /* each picture of each case, and only once if several results have the
                               same one */
    char why_not[HC_WHY_NOT];
};

/* Draws all pictures, of which the baseline, the last record if there is one, has only those that
   compare. It does so with the help of files in `folder`, which it removes again. If that fails the
   pictures say why; if none could be drawn, or there is no gnuplot, why_not does. */
void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures);
void hc_page_free_pictures(struct hc_page_pictures *pictures);

/* The length of the family's name in a case's name: eps of eps/claim, op/conv2d of
   op/conv2d/fp16/... */
int hc_family_length(const char *name);

#endif
