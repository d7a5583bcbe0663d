/* A table of texts, printed in as many blocks as a terminal of 80 columns needs. */
#ifndef HC_CLI_CALC_GRID_H
#define HC_CLI_CALC_GRID_H

#include <stdbool.h>
#include <stdio.h>

#include "op/status.h"

enum { HC_GRID_TEXT = 72 };

struct hc_grid_column {
    const char *group; /* stands above the columns of a group; "" for none */
    char head[HC_GRID_TEXT];
    bool shared; /* the last one of its group, stands in each block of it where there is room */
};

struct hc_grid {
    int rows;
    int columns;
    char (*label)[HC_GRID_TEXT]; /* [rows] */
    bool labels_right;           /* are aligned to the right */
    char corner[16];             /* above the labels */
    struct hc_grid_column *column;
    char (*cell)[HC_GRID_TEXT]; /* [rows][columns] */
};

/* Allocates all texts; HC_NO_MEMORY if there is none. Free the grid in any case. */
enum hc_status hc_grid_new(struct hc_grid *grid, int rows, int columns);
void hc_grid_free(struct hc_grid *grid);

/* Whether all columns fit beside each other. */
bool hc_grid_fits(const struct hc_grid *grid);

/* All columns beside each other if they fit; otherwise a block for each group, and for the parts of
   a group that is too wide. */
void hc_grid_print(const struct hc_grid *grid, FILE *out);

#endif
