/* The shards of a step's batch, whose gradients become one average as over ranks.

   Ranks are threads (comm/comm.h), and the average is the one that a training over ranks takes
   (train/parallel/reduction.h): the same buckets, order, formats and divisions. So what is measured
   here is what trains. A batch in one piece has no average. */
#ifndef HC_TRAIN_DRIFT_DRIFT_SHARDS_H
#define HC_TRAIN_DRIFT_DRIFT_SHARDS_H

#include <stdint.h>

#include "train/drift/drift.h"
#include "train/parallel/buckets.h"
#include "train/update/update.h"

struct hc_drift_shards {
    int ranks;
    int shards;
    int parameters;
    const struct hc_recipe *recipe; /* its wrapper averages */
    struct hc_device *device;
    struct hc_gradient *gradient; /* of each shard, one shard behind the other */
    void *memory;
};

/* Into how many shards a batch of the recipe is cut; ranks are 0 where it stays in one piece. */
int hc_drift_shards(int ranks, const struct hc_recipe *recipe);

/* Makes room for the gradients of all shards. `gradients` are those of one, in the formats in which
   they are contributed, without data. HC_NO_MEMORY. The device and the recipe outlive it. */
enum hc_status hc_drift_shards_open(struct hc_drift_shards *shards, struct hc_device *device,
                                    int ranks, const struct hc_recipe *recipe,
                                    const struct hc_gradient *gradients, int parameters);
void hc_drift_shards_close(struct hc_drift_shards *shards);

/* Takes all gradients of one shard, which lie one behind the other, and rounds them to the formats
   in which they are contributed. */
enum hc_status hc_drift_shards_take(struct hc_drift_shards *shards, int shard, double *g);

/* Averages, once all shards are there, and gives the average. */
enum hc_status hc_drift_shards_average(struct hc_drift_shards *shards, double *g);

#endif
