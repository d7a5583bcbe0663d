/* A run that several ranks, or several shards, share. */
#ifndef HC_TRAIN_RUN_SHARED_H
#define HC_TRAIN_RUN_SHARED_H

#include "train/parallel/reduction.h"
#include "train/run/trainer_inner.h"

/* The shards of a step (shared_step.c). Opens what averages gradients, where there are shards, and
   lets ranks agree on infinities. */
enum hc_status hc_shards_open(struct hc_run *run);
void hc_shards_close(struct hc_run *run);

/* After each shard's backward pass; `shard` counts this rank's own. */
enum hc_status hc_shards_add(struct hc_run *run, int shard);

/* Collective. Averages the gradients of all shards into the model's, and the losses into the
   net's. */
enum hc_status hc_shards_average(struct hc_run *run);

/* State (shared_state.c). All are collective, and nothing where there is one rank. */

/* What rank 0 begins with becomes everybody's: weights and all other state, counts, totals. */
enum hc_status hc_shared_begin(struct hc_run *run);

/* The running statistics, which are rank 0's. */
enum hc_status hc_shared_statistics(struct hc_run *run);

/* Whether all ranks have the same weights and state, bit by bit. If not, run->apart says which rank
   has not, and all ranks know it. */
enum hc_status hc_shared_compare(struct hc_run *run);

#endif
