/* Precision recipes as plain data.

   A recipe names the formats of everything that a training holds, the loss scaler, the optimizer,
   and the order of what is done to a gradient. Systems such as Apex O2 or PyTorch's native AMP are
   rows of such data (recipe_rows.c), and so are their known defects: no code asks which system it
   is running. Any field can be overridden by name (recipe_fields.h). */
#ifndef HC_TRAIN_UPDATE_RECIPE_H
#define HC_TRAIN_UPDATE_RECIPE_H

#include <stdbool.h>

#include "op/call.h"
#include "op/status.h"
#include "train/net/net.h"
#include "train/update/scaler.h"

enum hc_masters {
    HC_MASTERS_NONE,       /* the optimizer works on the model's own parameters */
    HC_MASTERS_FROM_MODEL, /* fp32 copies of the model after its rounding (nb_004b, Apex O2) */
    HC_MASTERS_FROM_FP32   /* the weights before the rounding (torch: parameters are fp32) */
};

enum hc_optimizer { HC_OPTIMIZER_SGD, HC_OPTIMIZER_ADAM }; /* Adam with DECOUPLED decay: AdamW */

enum hc_decay {
    HC_DECAY_DECOUPLED, /* what the optimizer works on becomes w * (1 - lr * decay) */
    HC_DECAY_L2,        /* decay * w is added to the unscaled gradient, inside the optimizer */
    HC_DECAY_SCALED,    /* a defect: decay * w is added to the gradient before unscaling */
    HC_DECAY_MODEL /* a defect: the model's copy, not the masters, becomes w * (1 - lr * decay) */
};

/* A number for each layer group. */
enum { HC_MAX_LAYER_GROUPS = 8 };

struct hc_per_layer_group {
    int n; /* 0: none are given */
    double value[HC_MAX_LAYER_GROUPS];
};

struct hc_recipe {
    const char *name;
    const char *title;
    const char *source;
    const char *defects; /* what is known to be wrong with it, or NULL */

    enum hc_format model; /* weights as the network uses them, biases, activations, gradients */
    enum hc_format norm;  /* gamma and beta and their gradients */
    enum hc_format statistics; /* running mean and variance */
    enum hc_format loss;       /* in which the loss is held (softmax and sum are fp32 inside) */
    enum hc_format gradient;   /* that the optimizer gets, after unscaling */
    enum hc_format state;      /* optimizer's momenta */
    enum hc_format arithmetic; /* optimizer's */
    bool tf32;                 /* gemm and convolutions may take fp32 inputs as tf32 */

    enum hc_masters masters;
    bool flat;         /* masters are one vector, whose gradients begin as uninitialised memory;
                          otherwise masters have no gradients before the first copy (fastai) */
    bool apart;        /* the update goes parameter by parameter, not over all of a kind at once */
    bool norm_rounded; /* norm parameters and statistics pass through the model's format at the
                          start: half() of everything, then float() of the norms */

    struct hc_scaler scaler;
    bool reciprocal; /* gradients are multiplied by fp32(1 / scale), not divided by the scale */
    bool sum_loss;   /* the loss is the sum over the batch, not the mean */

    enum hc_optimizer optimizer;
    double rate;   /* factor of the schedule's learning rate; 0: 1 */
    bool nesterov; /* SGD's */
    double beta2;
    double eps;
    bool eps_inside;
    double weight_decay;
    enum hc_decay decay;
    bool decay_norm; /* decay for norm parameters and biases too (fastai's bn_wd) */

    /* The fields from here on came after the first checkpoints. The identity of a checkpoint leaves
       out those that are zero, so that old ones can still be read. */

    /* A layer group is a run of contiguous layers. There are as many as these lists have numbers,
       of equal length: layer l of n layers with parameters belongs to layer group l * groups / n.
       */
    struct hc_per_layer_group group_rates;  /* factors of the learning rate: discriminative rates */
    struct hc_per_layer_group group_decays; /* take the place of weight_decay */
    bool split_bn_bias; /* norm parameters and biases are a parameter group of their own in each
                           layer group, even if they decay like the weights */

    double clip;      /* largest norm of the gradients that the optimizer gets, in fp32; 0: any */
    bool clip_groups; /* each parameter group is clipped by its own norm, not all by one */
    bool clip_scaled; /* a defect: the model's gradients are clipped, before unscaling */

    bool stochastic;  /* the optimizer's fp32 weight is rounded into bf16 stochastically */
    bool kahan;       /* a compensation beside each 16-bit weight takes what its updates lose */
    bool rate_inside; /* SGD's: the velocity holds the learning rate */
    enum hc_adam_order order; /* Adam's: whose roundings */

    /* Data parallel training. A step's batch is cut into so many shards of equal size, whatever the
       number of ranks, which divides it: so that the number of ranks changes no bit. 0: as many as
       there are ranks. */
    int shards;

    /* How gradients are averaged over ranks (train/parallel/wrapper.h). */
    int wrapper;      /* row of hc_wrappers */
    int algorithm;    /* 0: the wrapper's; otherwise 1 + enum hc_collective */
    int reduce;       /* enum hc_reduce_choice: the format of partial sums */
    double predivide; /* what each rank divides by before the sum; 0: the wrapper's */
    int bucket;       /* size of buckets, in the wrapper's unit; 0: the wrapper's */

    bool norm_sync; /* batch norm is over the batches of all ranks, each of which has one shard */

    enum hc_quant_row quant; /* how convolutions are quantised */
    int amax_history;        /* of delayed scaling: how many amaxes it keeps; 0: the row's own */
    int plain_ends; /* so many blocks at either end are not quantised (hc_plan_quantises) */
};

/* The table, fp32 first; by name, or NULL. */
const struct hc_recipe *hc_recipes(int *n);
const struct hc_recipe *hc_recipe_by_name(const char *name);

/* HC_INVALID with a line that names the recipe and the contradiction. */
enum hc_status hc_recipe_check(const struct hc_recipe *recipe);

/* How many layer groups there are: as many as group_rates or group_decays has numbers, or 1. */
int hc_recipe_layer_groups(const struct hc_recipe *recipe);

/* Whether a step that overflows still steps, on the gradients that the masters hold
   (update_step.c). */
bool hc_recipe_steps_on_overflow(const struct hc_recipe *recipe);

/* How its convolutions are quantised: row 0 of the table, if they are not. */
const struct hc_quant_recipe *hc_quant_of(const struct hc_recipe *recipe);

/* What the network has to know of the recipe. */
struct hc_net_numerics hc_recipe_numerics(const struct hc_recipe *recipe);

#endif
