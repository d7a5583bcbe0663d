/* The training loop: one recipe, one network, one data set, one backend. */
#ifndef HC_TRAIN_RUN_TRAINER_H
#define HC_TRAIN_RUN_TRAINER_H

#include "backend.h"
#include "train/data/data.h"
#include "train/net/net.h"
#include "train/update/recipe.h"
#include "train/update/schedule.h"

/* The files of a run's folder. Each begins with a line of column names; nan where there is no
   number. Losses and rates have 9 digits, which tell fp32 numbers apart; scales 17, which a reader
   of doubles needs to have them exactly. lr is the schedule's, before the recipe's factors.
   steps.csv, a row for each step; from gradient_norm on nan in steps that are not measured:
     step, epoch, loss, scale, skipped (0, 1), lr, beta1, gradient_norm, underflow, unscaled,
     update_lost, activation_underflow, activation_unscaled; then for each layer with weights
     LAYER.underflow, .unscaled, .update_lost, .activation_underflow, .activation_unscaled,
     .gradient_norm (metrics.h defines them)
   epochs.csv, a row for each epoch:
     epoch, train_loss, train_accuracy, test_loss, test_accuracy, images_per_second, skipped, scale
   gradients.csv, for each epoch a row for each exponent (floor of log2 |g|) that occurred among the
   sampled gradients; zero has the exponent -150, what is infinite or NaN 128:
     epoch, exponent, scaled, unscaled (how many gradients of weights, before and after division by
     the scale), activations_scaled, activations_unscaled (gradients of layers' outputs)
   checkpoint: all state (checkpoint.h). */

/* As it goes. Sent for every step and after every evaluation; of steps that were queued together
   when all are done. */
struct hc_progress {
    int epoch; /* 0.. */
    int epochs;
    int64_t step;             /* done in all */
    int64_t steps;            /* to do in all */
    double loss;              /* of this step's batch, unscaled */
    double smooth;            /* exponential mean of loss, weight 0.02, bias corrected */
    double scale;             /* of the next step, as far as it is known */
    int64_t skipped;          /* so far */
    double images_per_second; /* of this epoch so far, training alone */
    bool evaluated;           /* the epoch ended with this step, and the next two are news */
    double test_loss;
    double accuracy; /* 0..1 on the test images; NaN before the first evaluation */
};

struct hc_train_options {
    const struct hc_recipe *recipe;
    const struct hc_network *network; /* hc_darknet16 of net.h, or a smaller one */
    const struct hc_dataset *data;
    const struct hc_backend *backend;
    int threads; /* 0: one per core */
    int epochs;
    int batch;     /* 0: 64 */
    double max_lr; /* 0: 3e-3 */
    uint64_t seed; /* of initial weights, order and augmentation */

    /* A folder that exists: steps.csv, epochs.csv, gradients.csv and checkpoint are written there.
       NULL: nothing is written. */
    const char *out;
    bool resume;              /* goes on from out/checkpoint; HC_IO when there is none */
    int64_t checkpoint_every; /* steps; 0: at the end of every epoch */

    /* Every so many steps what a step loses is measured, which on a device costs many times the
       step. 0: 1 in host memory, 50 elsewhere. */
    int64_t measure_every;

    /* The rates of each step; NULL: the one-cycle to max_lr. */
    hc_schedule *schedule;
    const void *plan; /* for it */

    /* Called on the training thread; false stops at once, with the result so far. NULL: none.
     */
    bool (*progress)(const struct hc_progress *progress, void *context);
    void *context;

    /* Gets the facts of the backend (its slot `describe`) when the training ends; NULL: nobody
       asks. */
    hc_tell *tell;
    void *told;
};

/* What compare prints. Of the whole run, also where a part of it was resumed, save the three that
   say "of this call". */
struct hc_train_result {
    bool finished;    /* all epochs are done */
    bool learned;     /* finished, and the network is better than guessing: see reason */
    char reason[200]; /* one line: why it did not learn ("test loss 2.31 is not below 0.9 ln 10"),
                         or "" */

    bool diverged;    /* the last step's loss was not finite; the shares below are NaN then */
    int64_t nan_from; /* the first of the steps in a row up to the last one whose loss was not */

    double accuracy;   /* last epoch's, 0..1 on the test images; NaN where the loss on them is */
    double test_loss;  /* last epoch's mean cross-entropy on the test images */
    double train_loss; /* last epoch's mean */
    int64_t steps;
    int64_t skipped;
    double final_scale;

    /* Of the measured steps. */
    double underflow; /* share of gradient entries that are zero in the format of the gradients */
    double unscaled;  /* share that would be zero in it without the loss scale (metrics.h) */
    double activation_underflow; /* the same two of the gradients that come back to each */
    double activation_unscaled;  /* layer's output */
    double update_lost;          /* share of updates below half an ulp of the model's format */

    double images_per_second; /* training alone, without evaluation; of this call */
    double seconds;           /* of this call */
    int64_t memory; /* most bytes of the backend's that weights, activations, gradients, state, data
                       and scratch took at once; of this call */

    char captured[160]; /* "captured" where steps were replayed as a graph, otherwise why not */

    int64_t parameters; /* trainable */
    int64_t macs;       /* multiplications of one image's forward pass */
};

/* HC_INVALID for options that contradict each other, HC_IO, HC_NO_MEMORY, HC_UNSUPPORTED or
   HC_DEVICE. A run that does not learn is no error: result->learned says so. */
enum hc_status hc_train(const struct hc_train_options *options, struct hc_train_result *result);

#endif
