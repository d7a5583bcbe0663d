/* Training a run. */
#ifndef HC_CLI_TRAINING_TRAINING_RUN_H
#define HC_CLI_TRAINING_TRAINING_RUN_H

#include "cli/training/training.h"

/* Trains into run->folder, which it makes, and leaves run.json there. Shows a bar on a terminal,
   and a line for each epoch. */
enum hc_status hc_training_run(const struct hc_training *training, struct hc_training_run *run);

#endif
