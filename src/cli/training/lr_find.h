/* halfcheck train --lr-find */
#ifndef HC_CLI_TRAINING_LR_FIND_H
#define HC_CLI_TRAINING_LR_FIND_H

#include "cli/training/training.h"

/* Looks for a learning rate, and leaves lr_find.csv and its picture in run->folder. Returns the
   exit status. */
int hc_lr_find_command(const struct hc_training *training, const struct hc_training_run *run);

#endif
