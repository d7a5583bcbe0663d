/* A picture while it is made: what it shows, in columns, and the words beside it. */
#ifndef HC_CLI_PICTURE_DRAWING_H
#define HC_CLI_PICTURE_DRAWING_H

#include <stdbool.h>
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
    FILE *alt;
    struct hc_plot_values *values;
    int points;               /* rows of data; none: the picture is not drawn */
    char why_not[HC_WHY_NOT]; /* why there are none */
};

/* A kind of picture. `make` writes the data, the words and the values of the script. */
struct hc_picture_kind {
    const char *id;
    const char *question;
    const char *script;
    const char *records; /* in the command that draws it; NULL: RECORD */
    void (*make)(struct hc_drawing *drawing);
};

extern const struct hc_picture_kind hc_picture_headroom, hc_picture_answers, hc_picture_ulps,
    hc_picture_inputs, hc_picture_accuracy, hc_picture_loss, hc_picture_scale,
    hc_picture_weight_exponents, hc_picture_output_exponents, hc_picture_losses, hc_picture_stalls,
    hc_picture_drift_layers, hc_picture_drift_sources, hc_picture_baseline;

/* The pictures of the cases, for struct hc_page_pictures; and why none can be drawn. */
struct hc_drawn *hc_picture_draw_cases(const struct hc_page_record *records, int count,
                                       const char *folder, char why_not[HC_WHY_NOT]);

/* A text of a record as one field of the data, or in an answer: no tabs and no newlines. */
void hc_drawing_text(FILE *out, const char *text);

/* The name of a record in labels: its file; its folder and its file if the file of another record
   has the same name. */
const char *hc_drawing_record(const struct hc_drawing *drawing, int record);

/* A number as people write it: "0", "0.98", "1.4e+31", "infinite", "NaN". */
const char *hc_drawing_number(char text[32], double value);

#endif
