#include "cli/picture/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1000000, MOST_COLUMNS = 4096 };

/* Cuts the line at its commas; returns how many parts it has. */
static int cut(char *line)
{
    int columns = 1;
    line[strcspn(line, "\r\n")] = '\0';
    for (; *line; line++)
        if (*line == ',') {
            *line = '\0';
            columns++;
        }
    return columns;
}

static void read_row(const char *line, double *value, int columns)
{
    for (int c = 0; c < columns; c++) {
        char *end = NULL;
        value[c] = line ? strtod(line, &end) : (double)NAN;
        if (end == line)
            value[c] = (double)NAN;
        line = line ? strchr(line, ',') : NULL;
        line = line ? line + 1 : NULL;
    }
}

static bool read_rows(struct hc_csv *csv, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    int room = 0;
    bool good = true;
    while (good && csv->rows < MOST_ROWS && getline(&line, &size, file) > 0) {
        if (csv->rows == room) {
            room = room ? 2 * room : 64;
            double *more = realloc(csv->value, (size_t)room * (size_t)csv->columns * sizeof *more);
            good = more != NULL;
            csv->value = more ? more : csv->value;
        }
        if (good)
            read_row(line, csv->value + (size_t)csv->rows++ * (size_t)csv->columns, csv->columns);
    }
    free(line);
    return good;
}

bool hc_csv_read(struct hc_csv *csv, const char *path)
{
    size_t size = 0;
    *csv = (struct hc_csv){0};
    FILE *file = fopen(path, "r");
    bool good = file && getline(&csv->names, &size, file) > 0;
    if (good) {
        csv->columns = cut(csv->names);
        good = csv->columns <= MOST_COLUMNS && read_rows(csv, file);
    }
    if (file)
        (void)fclose(file);
    if (!good)
        hc_csv_free(csv);
    return good;
}

int hc_csv_column(const struct hc_csv *csv, const char *name)
{
    const char *at = csv->names;
    for (int c = 0; c < csv->columns; c++, at += strlen(at) + 1)
        if (strcmp(at, name) == 0)
            return c;
    return -1;
}

double hc_csv_at(const struct hc_csv *csv, int row, int column)
{
    return column < 0 ? (double)NAN
                      : csv->value[(size_t)row * (size_t)csv->columns + (size_t)column];
}

void hc_csv_free(struct hc_csv *csv)
{
    free(csv->names);
    free(csv->value);
    *csv = (struct hc_csv){0};
}
