/* The pictures of a result: how cases give them, and how records keep them:
     "pictures": [{"title", "x", "y", "log_x", "log_y", "bars", "marks": [{"x", "text"}],
                   "series": [{"name", "x": "0x1p+0 0x1p+1", "y": "0x1p+0 0x1.8p+0"}]}]
   log_x, log_y and bars are true or false. The coordinates of a series are hex floats with spaces
   between. */
#ifndef HC_CHECK_RECORD_PICTURE_H
#define HC_CHECK_RECORD_PICTURE_H

#include <jansson.h>

#include "check/check.h"

struct hc_series {
    struct hc_series *next;
    const char *name;
    int64_t offered; /* points given; those whose number is a multiple of stride are kept */
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

/* An array of the pictures that have points, or NULL if none has. */
json_t *hc_pictures_write(const struct hc_picture *pictures);

/* What is wrong with such an array, or NULL. */
const char *hc_pictures_wrong(const json_t *pictures);

/* Reads the next coordinate from the text of a series. Returns false at the end, and if it is not a
   number. */
bool hc_picture_next(const char **text, double *value);

#endif
