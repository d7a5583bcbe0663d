/* Numbers of results, by family of cases and by series (a backend, say). */
#ifndef HC_CLI_PICTURE_FAMILIES_H
#define HC_CLI_PICTURE_FAMILIES_H

#include <stdbool.h>

#include "cli/picture/drawing.h"

struct hc_family_value {
    int family; /* numbers from 0 */
    int series;
    double value;
};

/* The values of a family in one series. */
struct hc_family_cell {
    int count;
    double median;
    double worst; /* the largest; NaN if any is NaN */
};

struct hc_names {
    char **text;
    int count;
    int room;
};

struct hc_families {
    struct hc_names family;
    struct hc_names series;
    struct hc_family_value *value;
    int count;
    int room;
    bool no_memory;
    bool as_added;               /* the order is that in which they were added */
    int longest;                 /* label of a row, in letters; 0: as most pictures have it */
    int *order;                  /* hc_families_draw: families by their worst value */
    int shown;                   /* of these, how many have a row */
    struct hc_family_cell *cell; /* [family * series.count + series] */
};

/* The backend's name, after the record's if there are several; "once" for what runs on none. */
const char *hc_series_name(char text[512], const struct hc_drawing *drawing, int record,
                           const char *backend);

/* Adds a value of the family of this case. */
void hc_families_add(struct hc_families *families, const char *name, const char *series,
                     double value);

/* The axis of a chart. It ends at `low` and `over`, powers of ten, where everything beyond is
   drawn. */
struct hc_families_axis {
    double low;
    double over;
    bool limit; /* there is a line at 1 */
    const char *text;
};

/* Draws a chart: a row for each family, NaN first, then the largest value, then by name; but no
   more than a page has room for: how many others there are, and their largest value, is a row of
   its own, and their cells are in the data. Only series with a mark are in the key. Gives the
   script the names as family_tic and series_name, with their numbers, `others` and `nans`; writes
   the cells as rows: row, series, worst, median, results, family, name of the series. Returns false
   if there are no values, with `none` as the reason unless there is one, or no memory. */
bool hc_families_draw(struct hc_families *families, struct hc_drawing *drawing,
                      const struct hc_families_axis *axis, const char *none);

/* "N others at or below x have no row.", after a blank, if not all families have a row. */
void hc_families_say_others(const struct hc_families *families, FILE *out);

/* The family that stands at place `i` of the order, and its worst value in all series. */
const char *hc_families_name(const struct hc_families *families, int i);
double hc_families_worst(const struct hc_families *families, int i);
const struct hc_family_cell *hc_families_cell(const struct hc_families *families, int i,
                                              int series);

void hc_families_free(struct hc_families *families);

#endif
