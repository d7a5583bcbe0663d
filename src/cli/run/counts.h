/* Counts of results by component and backend, for the end of the table. */
#ifndef HC_CLI_RUN_COUNTS_H
#define HC_CLI_RUN_COUNTS_H

#include <stdio.h>

#include "check/record/rows.h"

struct hc_sums {
    int count[HC_VERDICT_COUNT];
    long long checked;
    double worst;                 /* error / bound */
    const struct hc_row *nearest; /* the row with that; NULL if every error is 0 */
    bool bounded;                 /* some comparison allowed an error */
    double seconds;
};

void hc_sums_add(struct hc_sums *sums, const struct hc_row *row);

/* A line for each component and backend, or for each component alone where all rows are of one
   backend that the reader knows; and one for `all`. A narrow terminal gets fewer columns. */
void hc_print_components(FILE *out, const struct hc_rows *rows, const struct hc_sums *all,
                         bool one_backend);

#endif
