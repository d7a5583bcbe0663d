/* compare --drift --shares: the shares of sources in the squared error, in tables, csv files and
   records. Where several seeds were measured, they are those of the mean over seeds. */
#ifndef HC_CLI_TRAINING_DRIFT_SHARES_H
#define HC_CLI_TRAINING_DRIFT_SHARES_H

#include <jansson.h>
#include <stdio.h>

#include "cli/training/drift_record.h"

/* The shares of one recipe of one number of ranks, and which sources cancel. Nothing without
   shares. */
void hc_drift_print_shares(const struct hc_drift_report *part, int recipe, FILE *out);

/* What the columns mean. */
void hc_drift_print_shares_legend(const struct hc_drift_report *report, FILE *out);

/* The rows of shares.csv and pairs.csv of one recipe, without what ends a row: `end` does that. */
typedef void hc_drift_row_end(FILE *file, const struct hc_drift_report *part, int recipe);
void hc_drift_shares_rows(FILE *file, const struct hc_drift_report *part, int recipe,
                          hc_drift_row_end *end);
void hc_drift_pairs_rows(FILE *file, const struct hc_drift_report *part, int recipe,
                         hc_drift_row_end *end);

/* The shares of one seed of a recipe. */
json_t *hc_drift_shares_json(const struct hc_drift_report *seed, int recipe);

/* Adds what shares.csv has of one number of ranks. */
void hc_drift_shares_add(json_t *list, const struct hc_drift_report *part);

#endif
