/* A picture while it is made: what it shows, in columns, and the words beside it. */
#ifndef HC_CLI_PICTURE_DRAWING_H
#define HC_CLI_PICTURE_DRAWING_H

#include <stdio.h>

#include "cli/picture/pictures.h"
#include "cli/report/plot.h"

struct hc_drawing {
    const struct hc_page_record *records; /* without the baseline, if one is marked */
    int count;
    const struct hc_page_record *baseline; /* NULL: there is none */
    FILE *data; /* the file "points", which the script draws and the reader gets: columns with tabs
                   between, a line of names first */
    FILE *answer;
    struct hc_plot_values *values;
    int points;               /* rows of data; none: the picture is not drawn */
    int shown;                /* rows of a chart, or frames */
    char why_not[HC_WHY_NOT]; /* why there are none */
};

/* A kind of picture. `make` writes the data, the answer and the values of the script. */
struct hc_picture_kind {
    const char *id;
    const char *question;
    const char *script;
    const char *records; /* in the command that draws it; NULL: RECORD */
    const char *alt;     /* the picture in words, with %d for how many rows or frames it shows */
    void (*make)(struct hc_drawing *drawing);
};

extern const struct hc_picture_kind hc_picture_headroom, hc_picture_answers, hc_picture_ulps,
    hc_picture_inputs, hc_picture_accuracy, hc_picture_loss, hc_picture_scale,
    hc_picture_weight_exponents, hc_picture_output_exponents, hc_picture_losses, hc_picture_stalls,
    hc_picture_drift_layers, hc_picture_drift_sources, hc_picture_baseline;

/* The pictures of the cases, for struct hc_page_pictures; and why none can be drawn. */
struct hc_drawn *hc_picture_draw_cases(const struct hc_page_record *records, int count,
                                       const char *folder, char why_not[HC_WHY_NOT]);

/* Runs a script on the folder's file "points" and takes what it drew, as an SVG with this id and
   title, for the caller to free. As hc_plot, with a line; HC_IO also if nothing was drawn. */
enum hc_status hc_drawing_plot(const char *script, struct hc_plot_values *values,
                               const char *folder, const char *id, const char *alt, char **svg);

/* What gnuplot drew, from its <svg on, made fit for a page that has other pictures, and a dark
   side. The result has role=img and `alt` as its title, ids that begin with `id`, colours that are
   variables of reports/page.html, and none of the groups that draw nothing. The caller frees it;
   NULL without memory. */
char *hc_picture_svg(const char *raw, const char *id, const char *alt);

/* The last two fields of a row of the data: texts of any bytes, without tabs and newlines. */
void hc_drawing_names(FILE *out, const char *first, const char *second);

/* Prints a part of the answer, whose texts may be of any bytes; and why there is no picture. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_drawing_say(FILE *out, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_drawing_why_not(struct hc_drawing *drawing, const char *format, ...);

/* The name of a record in labels: its file; its folder and its file if the file of another record
   has the same name. */
const char *hc_drawing_record(const struct hc_drawing *drawing, int record);

/* A number as people write it: "0", "0.98", "1.4e+31", "infinite", "NaN". */
const char *hc_drawing_number(char text[32], double value);

#endif
