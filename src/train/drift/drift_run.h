/* One training as drift measures it: a net and its update, whose numbers are read and set as fp64
   on the host. */
#ifndef HC_TRAIN_DRIFT_DRIFT_RUN_H
#define HC_TRAIN_DRIFT_DRIFT_RUN_H

#include <stdint.h>

#include "train/drift/drift.h"
#include "train/drift/drift_rounding.h"
#include "train/parallel/buckets.h"
#include "train/update/update.h"

/* The shards of a step's batch, whose gradients become one average as over ranks.

   Ranks are threads (comm/comm.h), and the average is the one that a training over ranks takes
   (train/parallel/reduction.h): the same buckets, order, formats and divisions. So what is measured
   here is what trains. A batch in one piece has no average. */

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

struct hc_drift_run {
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    struct hc_rounder rounder; /* rounds in a training in fp64 */
    bool rounds;
    int ranks;
    int shards; /* of a batch */
    int images; /* of a shard */
    int64_t
        weights;    /* elements of all parameters, which lie one behind the other in what follows */
    int64_t passes; /* of shards before the next one: what random bits of codes depend on */
    double *g;      /* gradients of the last pass, unscaled */
    double *sizes;  /* the mean of |g| over the shards of the last pass, scaled; NULL: not wanted */
    double *before; /* the weights that hc_drift_run_set_weights set, as the optimizer holds them */
};

enum hc_status hc_drift_run_open(struct hc_drift_run *run, const struct hc_drift_options *options,
                                 struct hc_queue *queue, const struct hc_recipe *recipe);
void hc_drift_run_close(struct hc_drift_run *run);

/* One state tensor of every parameter, one behind the other, to and from fp64. Setting rounds to
   nearest; `from` is only read. */
enum hc_status hc_drift_run_get(struct hc_drift_run *run, enum hc_state_tensor state, double *to);
enum hc_status hc_drift_run_set(struct hc_drift_run *run, enum hc_state_tensor state, double *from);

/* Rounds such numbers in place, each parameter's to the format of its kind. */
enum hc_status hc_drift_run_round(struct hc_drift_run *run, const enum hc_format format[2],
                                  double *x);

/* What the optimizer works on becomes w, rounded through fp32 unless the training is in fp64, and
   the model's copy follows it. */
enum hc_status hc_drift_run_set_weights(struct hc_drift_run *run, const double *w);

/* For a training in fp64: goes back to the start, with no momenta and with the weights w. From now
   on it rounds as `rounding` says. `rounded_start` rounds the masters' start as well. */
enum hc_status hc_drift_run_restart(struct hc_drift_run *run, const struct hc_rounding *rounding,
                                    const double *w, bool rounded_start);

/* Forward and backward pass of a step's batch, shard by shard, with the gradients of loss * scale:
   gives run->g, averaged over shards, and the loss. Rounded weights are used in this pass alone. */
enum hc_status hc_drift_run_pass(struct hc_drift_run *run, int step, const float *images,
                                 const int32_t *labels, float scale, float *loss);

/* The update with the gradients of the pass; where roundings are made, with those in run->g. */
enum hc_status hc_drift_run_update(struct hc_drift_run *run, double lr);

#endif
