/* The pictures of a result: as cases hand them over, and as records keep them:
     "pictures": [{"title", "x", "y", "log_x", "log_y", "bars", "marks": [{"x", "text"}],
                   "series": [{"name", "x": "0x1p+0 0x1p+1", "y": "0x1p+0 0x1.8p+0"}]}]
   log_x, log_y and bars are true or false; a series' coordinates are in hex, a space between. */
#ifndef HC_CHECK_RECORD_PICTURE_H
#define HC_CHECK_RECORD_PICTURE_H

#include <jansson.h>

#include "check/check.h"

struct hc_series {
    struct hc_series *next;
    const char *name;
    int64_t offered; /* points handed over; those whose number is a multiple of stride are kept */
    int64_t stride;
    int count;
    double x[HC_SERIES_POINTS];
    double y[HC_SERIES_POINTS];
    double last_x; /* the last point, kept or not */
    double last_y;
};

struct hc_picture {
    struct hc_picture *next;
    struct hc_frame frame;
    struct hc_series *series; /* in the order of their first points */
};

/* An array of those pictures that have points, or NULL where there is none. */
json_t *hc_pictures_write(const struct hc_picture *pictures);

/* What is wrong with an array that was read, or NULL. */
const char *hc_pictures_wrong(const json_t *pictures);

/* Takes the next coordinate off a series' text: false at its end and where it is no number. */
bool hc_picture_next(const char **text, double *value);

#endif
