/* What `compare --drift` leaves in its folder, and what it claims. */
#ifndef HC_CLI_TRAINING_DRIFT_RECORD_H
#define HC_CLI_TRAINING_DRIFT_RECORD_H

#include "check/record/record.h"
#include "cli/training/comparison.h"
#include "train/drift/drift.h"

struct hc_drift_report {
    const struct hc_comparison *c;
    const char *folder;
    int steps;
    struct hc_plan plan;
    struct hc_drift *drift; /* by recipe */
};

/* "all of them" for HC_SOURCE_COUNT; its format under the recipe, "-" for that. */
const char *hc_drift_source(int source);
const char *hc_drift_format(const struct hc_drift *drift, int source);

/* layers.csv: recipe, layer, error, cosine, underflow, lost; attribution.csv: recipe, source, format,
   gradient_alone, gradient_without, free_alone, free_without, gradient_measured, free_measured,
   gradient_residual, free_residual; record.json. */
enum hc_status hc_drift_write(const struct hc_drift_report *report);

/* The claims, as results of the record. Where no bound can be derived for a drift, none is claimed: it is
   a measure in the record's "drift". A recipe is explained where it lies nearer to the fp64 run with its
   roundings than to the fp64 run: the residual is below the drift; SKIPPED where that is not finite. fp64
   does not drift from itself, and recipes that differ in where their masters lie drift alike: bound 0. */
void hc_drift_claims(const struct hc_drift_report *report, json_t *record);

/* How many of them failed. */
int hc_drift_failures(const struct hc_drift_report *report);

#endif
