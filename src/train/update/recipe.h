/* Precision recipes as plain data. */
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
    bool flat;  /* they are one vector, whose gradients begin as uninitialised memory; otherwise the
                   masters have no gradients before the first are copied (fastai) */
    bool apart; /* the update goes parameter by parameter, not over all of a kind at once */
    bool norm_rounded; /* norm parameters and statistics pass through the model's format at the
                          start: half() of everything, then float() of the norms */

    struct hc_scaler scaler;
    bool reciprocal; /* gradients are multiplied with fp32(1 / scale), not divided by it */
    bool sum_loss;   /* over the batch, instead of the mean */

    enum hc_optimizer optimizer;
    double rate;   /* factor of the schedule's learning rate; 0: 1 */
    bool nesterov; /* SGD's */
    double beta2;
    double eps;
    bool eps_inside;
    double weight_decay;
    enum hc_decay decay;
    bool decay_norm; /* decay for norm parameters and biases too (fastai's bn_wd) */

    /* What follows came after the first checkpoints; what is zero of it they do not name.
       Layer groups: the network's layers that have parameters, in as many contiguous parts as there are
       numbers, of equal length (layer l of n belongs to part l * parts / n). */
    struct hc_per_layer_group group_rates;  /* factors of the learning rate: discriminative rates */
    struct hc_per_layer_group group_decays; /* in the stead of weight_decay */
    /* Norm parameters and biases are a group of their own in each layer group, also where they decay as
       the rest does. */
    bool split_bn_bias;

    double clip;      /* largest norm of the gradients that the optimizer gets, in fp32; 0: any */
    bool clip_groups; /* of each group's by itself, not of all at once */
    bool clip_scaled; /* a defect: of the model's gradients, before unscaling */

    bool stochastic;  /* the optimizer's fp32 weight is rounded into bf16 stochastically */
    bool kahan;       /* a compensation beside each 16-bit weight, which its updates are added to */
    bool rate_inside; /* SGD's: the velocity holds the learning rate */
    enum hc_adam_order order; /* Adam's: whose roundings */
};

/* The table, fp32 first; by name, or NULL. */
const struct hc_recipe *hc_recipes(int *n);
const struct hc_recipe *hc_recipe_by_name(const char *name);

/* HC_INVALID with a line that names the recipe and the contradiction. */
enum hc_status hc_recipe_check(const struct hc_recipe *recipe);

/* How many layer groups there are: as many as group_rates or group_decays has numbers, or 1. */
int hc_recipe_layer_groups(const struct hc_recipe *recipe);

/* Whether a step that overflows still steps, on the gradients that the masters hold
   (update_stale.c). */
bool hc_recipe_steps_on_overflow(const struct hc_recipe *recipe);

/* What the network has to know of the recipe. */
struct hc_net_numerics hc_recipe_numerics(const struct hc_recipe *recipe);

#endif
