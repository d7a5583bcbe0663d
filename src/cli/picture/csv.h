/* A file of numbers with commas between, and a line of names first, as training writes it. */
#ifndef HC_CLI_PICTURE_CSV_H
#define HC_CLI_PICTURE_CSV_H

#include <stdbool.h>

struct hc_csv {
    char *names; /* the first line, cut at its commas */
    int columns;
    int rows;
    double *value; /* [row * columns + column]; NaN where there is no number */
};

/* Returns false, with nothing to free, if the file cannot be read or has no names. Reads at most a
   million rows. */
bool hc_csv_read(struct hc_csv *csv, const char *path);

/* The number of a column; -1: there is none. */
int hc_csv_column(const struct hc_csv *csv, const char *name);

/* NaN for column -1. */
double hc_csv_at(const struct hc_csv *csv, int row, int column);

void hc_csv_free(struct hc_csv *csv);

#endif
