/* compare --drift: how far each recipe drifts from fp64, and which of its roundings cause that
   (train/drift/drift.h). */
#ifndef HC_CLI_TRAINING_DRIFT_H
#define HC_CLI_TRAINING_DRIFT_H

#include "cli/training/comparison.h"

/* Measures the recipes of the comparison over so many steps, with each of its seeds, prints tables
   of the first seed and what the others change, and leaves
   record.json, table.txt, layers.csv, attribution.csv and pictures in the folder, with shares
   shares.csv and pairs.csv too. Returns the exit status. */
int hc_drift_command(const struct hc_comparison *comparison, int steps, const char *folder);

#endif
