/* A training step over GPUs, on paper: when buckets of gradients are ready, how long their
   all-reduces take (comm/model.h), and what of that is hidden behind the backward pass.

   The time of a step on one GPU is given, not known: it goes to the layers by their products, a
   third of it forward and two thirds backward, in the reverse order of the layers. Other work
   (batch norm, the update, the start of kernels) has no time of its own. A bucket's all-reduce
   begins when the last of its gradients is there and the bucket before it is done, and disturbs
   nothing. The step ends when the backward pass and the last all-reduce have ended. */
#ifndef HC_TRAIN_PARALLEL_STEP_MODEL_H
#define HC_TRAIN_PARALLEL_STEP_MODEL_H

#include "comm/model.h"
#include "train/net/net.h"
#include "train/parallel/reduction.h"

struct hc_step_model {
    const struct hc_recipe *recipe;
    const struct hc_plan *plan;
    const struct hc_cluster *cluster;
    int ranks;
    double alone; /* seconds of a step on one GPU, with the batch that a rank has */
};

struct hc_step_time {
    double step;      /* seconds; */
    double in_turns;  /* if the all-reduces began after the backward pass, as halfcheck's do; */
    double reduction; /* of all all-reduces together */
    int buckets;
    int64_t bytes;       /* that are summed, of one rank's gradients */
    struct hc_sent sent; /* by rank 0 */
};

/* HC_NO_MEMORY. */
enum hc_status hc_step_model(const struct hc_step_model *model, struct hc_step_time *time);

/* The gradients of a network under a recipe, in the order of its parameters, without data: up to
   `room` of them, and returns how many. macs, if not NULL, are the products of each layer's forward
   pass for an image. */
int hc_step_model_gradients(const struct hc_recipe *recipe, const struct hc_plan *plan,
                            struct hc_gradient *gradients, int room, int64_t *macs);

#endif
