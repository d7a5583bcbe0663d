/* What the ranks of a job compare before they train together (cli/ranks/ranks.h). */
#ifndef HC_CLI_TRAINING_AGREE_H
#define HC_CLI_TRAINING_AGREE_H

#include "cli/training/training.h"

/* All ranks come with whether they can train, and with what decides the bits of a training beside
   the command line, which they have compared already: every field of the recipes, every image, and
   how each backend multiplies on this rank's processor. A rank that differs is refused, by name. */
enum hc_status hc_training_agree(const struct hc_training *training, enum hc_status mine,
                                 const struct hc_recipe *const *recipes, int n);

#endif
