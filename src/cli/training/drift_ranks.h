/* compare --drift --ranks: the same recipes over several numbers of ranks. */
#ifndef HC_CLI_TRAINING_DRIFT_RANKS_H
#define HC_CLI_TRAINING_DRIFT_RANKS_H

#include <stdio.h>

#include "cli/training/drift_record.h"

/* Reads "1,2,4,8" into the comparison; NULL: nothing. HC_INVALID with a line if it is not that, or
   if nobody asked for drift. */
enum hc_status hc_drift_read_ranks(const char *list, struct hc_comparison *comparison);

/* HC_INVALID with a line if the batch does not divide among the ranks under some recipe. */
enum hc_status hc_drift_check_ranks(const struct hc_comparison *comparison);

/* The line above the tables of one number of ranks: what is compared with what. */
void hc_drift_print_ranks(const struct hc_drift_report *part, FILE *out);

/* What the average over ranks alone does to each recipe. */
void hc_drift_print_averages(const struct hc_drift_report *report, FILE *out);

#endif
