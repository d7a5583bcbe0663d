/* compare --drift: what each recipe's roundings do, and which of them do it (train/drift/drift.h). */
#ifndef HC_CLI_TRAINING_DRIFT_H
#define HC_CLI_TRAINING_DRIFT_H

#include "cli/training/comparison.h"

/* Measures the comparison's recipes over so many steps, prints, and leaves record.json, table.txt,
   layers.csv, attribution.csv and pictures in the folder. An exit status. */
int hc_drift_command(const struct hc_comparison *comparison, int steps, const char *folder);

#endif
