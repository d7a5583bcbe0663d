/* A training as a record. */
#ifndef HC_CLI_TRAINING_TRAINING_RECORD_H
#define HC_CLI_TRAINING_TRAINING_RECORD_H

#include <jansson.h>

#include "cli/training/training.h"

/* Writes run.json into the run's folder: the result of hc_training_add, and a member "training"
   with the settings and what was measured; "others_cpus" says how many CPUs other processes used
   meanwhile (machine_load.h), null where that is not known. `facts` is an object of the backend's
   facts (check/record/facts.h). */
enum hc_status hc_training_write(const struct hc_training *training,
                                 const struct hc_training_run *run, json_t *facts);

/* Reads the speed, seconds, memory and graph of a run that was over before, from its run.json.
   If that was never written, the speed is that of the last epoch in epochs.csv, or NaN, and the
   memory is 0 (not known). */
void hc_training_recall(struct hc_training_run *run);

/* Adds the training (check/record/outcomes.h), and the result "train/<recipe>-seed<n>", which
   passes if the run learned. Its error is the loss of the last epoch, its bound 0.9 ln(classes); a
   run learned if the loss is below that and the accuracy above guessing (train/run/trainer.h). */
void hc_training_add(json_t *record, const struct hc_training *training,
                     const struct hc_training_run *run);

/* How it was made, in a line: data, classes, network, epochs (or steps of a drift, if there are
   any), batch, rate, and the number of ranks if it decides into how many shards a batch is cut.
   Where the data lies is no part of that. */
void hc_training_made(const struct hc_training *training, const struct hc_recipe *recipe, int steps,
                      char *text, size_t bytes);

/* Sets how the record was made (check/record/invocation.h). */
void hc_training_set_invocation(json_t *record, const struct hc_training *training);

/* The settings as an object. */
json_t *hc_training_settings(const struct hc_training *training);

enum { HC_TRAINING_REPRO = 4096 };

/* The options that make a command train on the same data in the same way, but for ranks, which
   `train` takes as an option and `compare` from mpirun. */
void hc_training_repro(const struct hc_training *training, char *text, size_t bytes);

#endif
