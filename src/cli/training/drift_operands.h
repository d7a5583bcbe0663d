/* compare --drift: what recipes below half do to the operands of their products, in tables, csv
   files and records. */
#ifndef HC_CLI_TRAINING_DRIFT_OPERANDS_H
#define HC_CLI_TRAINING_DRIFT_OPERANDS_H

#include <jansson.h>
#include <stdio.h>

#include "cli/training/drift_record.h"

/* Whether a recipe of the report quantises. */
bool hc_drift_has_operands(const struct hc_drift_report *report);

/* A row for each operand of each such recipe of one number of ranks: means over layers, and the
   layer where most is lost. */
void hc_drift_print_operands(const struct hc_drift_report *part, FILE *out);

/* The further columns of layers.csv for x, w and dy, and those of layer l; -1: empty ones. Nothing
   where no recipe quantises. */
void hc_drift_operands_heading(FILE *file, const struct hc_drift_report *report);
void hc_drift_operands_row(FILE *file, const struct hc_drift_report *report,
                           const struct hc_drift *drift, int l);

/* {"x": {...}, ...} of layer l; NULL where it is not quantised. */
json_t *hc_drift_operands_json(const struct hc_drift *drift, int l);

#endif
