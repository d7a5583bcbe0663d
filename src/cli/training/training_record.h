/* A training as a record. */
#ifndef HC_CLI_TRAINING_TRAINING_RECORD_H
#define HC_CLI_TRAINING_TRAINING_RECORD_H

#include <jansson.h>

#include "cli/training/training.h"

/* Writes run.json into the run's folder: the one result of hc_training_add, and a member
   "training" with the settings and what was measured. `facts` are what the backend told of
   itself, an object (check/record/facts.h). */
enum hc_status hc_training_write(const struct hc_training *training,
                                 const struct hc_training_run *run, json_t *facts);

/* Speed, seconds, memory and graph of a run that was over before this call, as the folder's run.json has
   them; where that was never written, the speed of the last epoch by epochs.csv, or NaN, and no memory:
   0. */
void hc_training_recall(struct hc_training_run *run);

/* Adds the result "train/<recipe>-seed<n>": passed when the run learnt; error: its last epoch's
   loss, bound: 0.9 ln classes, which that must be below (trainer.h: and the accuracy above guessing). */
void hc_training_add(json_t *record, const struct hc_training *training,
                     const struct hc_training_run *run);

/* Sets how the record was made (check/record/invocation.h). */
void hc_training_set_invocation(json_t *record, const struct hc_training *training);

/* The settings, as an object. */
json_t *hc_training_settings(const struct hc_training *training);

/* The options that make another command train on the same data in the same way. */
void hc_training_repro(const struct hc_training *training, char *text, size_t bytes);

#endif
