/* The training loop: one recipe, one network, one data set, one backend.

   It drives the same op table that the cases test and computes nothing beside it. What the recipe
   says of gradients and weights happens in the update (train/update/update.h), the passes in the
   net (train/net/net.h); here batches are fed, steps are logged, the test set is evaluated and
   checkpoints are written. All results are functions of the options: neither threads nor an
   interruption change a bit.

   Several ranks (comm/comm.h) can share a run: each makes the same call, with the same options but
   for `comm`. `batch` is that of all ranks together. Rank 0 alone reads and writes files and calls
   the caller's functions. If the recipe says how many shards a batch is cut into, a power of two,
   the number of ranks changes no bit either, and an interrupted run may go on with another one. */
#ifndef HC_TRAIN_RUN_TRAINER_H
#define HC_TRAIN_RUN_TRAINER_H

#include "backend.h"
#include "comm/comm.h"
#include "train/data/data.h"
#include "train/net/net.h"
#include "train/update/recipe.h"
#include "train/update/update.h"

/* The files of a run's folder. Each begins with a line of column names; nan where there is no
   number. Losses and rates have 9 digits, which tell fp32 numbers apart; scales 17, which a reader
   of doubles needs to have them exactly. lr is the schedule's, before the recipe's factors.
   steps.csv, a row for each step; from gradient_norm on nan in steps that are not measured:
     step, epoch, loss, scale, skipped (0, 1), lr, beta1, gradient_norm, underflow, unscaled,
     update_lost, activation_underflow, activation_unscaled; then for each layer with weights
     LAYER.underflow, .unscaled, .update_lost, .activation_underflow, .activation_unscaled,
     .gradient_norm (metrics.h defines them); and for each convolution that is quantised
     LAYER.x_at_max, .x_flushed, .x_scale, and the same of w and dy (also there)
   epochs.csv, a row for each epoch:
     epoch, train_loss, train_accuracy, test_loss, test_accuracy, images_per_second, skipped, scale
   gradients.csv, for each epoch a row for each exponent (floor of log2 |g|) that occurred among the
   sampled gradients; zero has the exponent -150, what is infinite or NaN 128:
     epoch, exponent, scaled, unscaled (how many gradients of weights, before and after division by
     the scale), activations_scaled, activations_unscaled (gradients of layers' outputs)
   predictions.csv, of the last evaluation, a row for each 100 test images:
     first (number of its first image), labels, predicted (a digit for each image: its class, and
     the one with the largest logit, as the op xent counts it; - where all logits are NaN)
   checkpoint: all state (checkpoint.h).
   step-STEP.safetensors: of each dumped step. */

/* What the caller is told on the way, for every step and after every evaluation. Steps that were
   queued together are reported when all of them are done. */
struct hc_progress {
    int epoch; /* 0.. */
    int epochs;
    int64_t step;             /* done in all */
    int64_t steps;            /* to do in all */
    double loss;              /* of this step's batch, unscaled */
    double smooth;            /* exponential mean of the loss, weight 0.02, bias corrected */
    double scale;             /* of the next step, as far as it is known */
    int64_t skipped;          /* so far */
    double images_per_second; /* of this epoch so far, training alone */
    bool evaluated;           /* the epoch ended with this step: the next two are new */
    double test_loss;
    double accuracy; /* 0..1 on the test images, or of a text's bytes; NaN before the first
                        evaluation */
};

/* What a training has where nobody says it: of images, and of a text. */
struct hc_train_usual {
    int epochs;
    int batch;
    double max_lr;
};
struct hc_train_usual hc_train_usual(const struct hc_network *network);

struct hc_train_options {
    const struct hc_recipe *recipe;
    const struct hc_network *network; /* hc_darknet16 of net.h, or a smaller one */
    const struct hc_dataset *data;
    const struct hc_backend *backend;
    int threads; /* 0: one per core */
    int epochs;
    int batch;     /* of all ranks together; 0: the usual one */
    double max_lr; /* 0: the usual one */
    uint64_t seed; /* of initial weights, order and augmentation */

    /* A folder that exists: steps.csv, epochs.csv, gradients.csv and checkpoint are written there.
       NULL: nothing is written. */
    const char *out;
    bool resume; /* goes on from out/checkpoint; HC_IO if there is none */
    /* Begins with the state in this file, and at its step (docs/step-files.md). NULL: anew. */
    const char *load;
    int64_t checkpoint_every; /* steps; 0: at the end of every epoch */

    /* Steps, counted from 0, of which out/step-STEP.safetensors is written (docs/step-files.md). */
    const int64_t *dumps;
    int dump_count;
    const char *producer; /* what files say of who wrote them, "halfcheck 0.3.0"; or NULL */

    struct hc_comm *comm; /* NULL: one rank alone */

    /* Every so many steps it is measured what a step loses (metrics.h). On a device that costs many
       times the step. 0: every step in host memory, every 50th elsewhere. */
    int64_t measure_every;

    /* The rates of each step; NULL: the one-cycle to max_lr, or a GPT's. */
    hc_schedule *schedule;
    const void *plan; /* for it */

    /* If not NULL, the digests of all calls are added to it (train/net/device.h). */
    uint64_t *digest;

    /* Called on the training thread, if not NULL. If it returns false the training stops at once,
       with the result so far.
     */
    bool (*progress)(const struct hc_progress *progress, void *context);
    void *context;
    bool keep_when_stopped; /* but first writes the checkpoint, from which a resumed run goes on */

    /* Told what was taken of the loaded file and what not, line by line; NULL: nobody asks. The
       lines may hold any bytes of the file. */
    void (*note)(const char *line, void *context);

    /* Gets the facts of the backend (its function `describe`) when the training ends. NULL: nobody
       asks for them. */
    hc_tell *tell;
    void *told;
};

/* What came of a training: of the whole run, including what an earlier call did before it was
   interrupted. Fields that say "of this call" are the exception. */
struct hc_train_result {
    bool finished;    /* all epochs are done */
    bool learned;     /* finished, and the network is better than guessing: see reason */
    char reason[200]; /* one line: why it did not learn ("test loss 2.31 is not below 0.9 ln 10"),
                         or "" */
    bool says;        /* if the call failed: this rank is to say why, for all that know it */

    bool diverged;    /* the last step's loss was not finite; the shares below are NaN then */
    int64_t nan_from; /* if so, the first of the steps without interruption whose loss was not */

    double accuracy;   /* last epoch's, 0..1 on the test images; NaN if the loss on them is */
    double test_loss;  /* last epoch's mean cross-entropy on the test images */
    double train_loss; /* last epoch's mean */
    int64_t steps;
    int64_t skipped;
    double final_scale;

    /* The measured steps give these. */
    double underflow; /* share of gradient entries that are zero in the format of the gradients */
    double unscaled;  /* share that would be zero in it without the loss scale (metrics.h) */
    double activation_underflow; /* the same two of the gradients that come back to each */
    double activation_unscaled;  /* layer's output */
    double update_lost;          /* share of updates below half an ulp of the model's format */

    double images_per_second; /* training alone, without evaluation; of this call */
    double seconds;           /* of this call */
    /* The most bytes of the backend's memory that weights, activations, gradients, state, data and
       scratch took at once; of this call. */
    int64_t memory;

    /* What the backend was given for the last step that was captured or queued as a whole; all 0
       where it does not count. */
    struct hc_work step_work;

    char captured[160]; /* "captured" if steps were replayed as a graph, otherwise why not */

    int64_t parameters; /* trainable */
    int64_t macs;       /* multiplications of one image's forward pass */
};

/* Trains. Collective. HC_INVALID for options that contradict each other, HC_IO, HC_NO_MEMORY,
   HC_UNSUPPORTED or HC_DEVICE. A run that does not learn is no error: result->learned says so; nor
   is one whose ranks have come to different weights, which ends at once: result->reason names the
   rank. */
enum hc_status hc_train(const struct hc_train_options *options, struct hc_train_result *result);

/* The same on so many ranks, which are threads of this process; options->comm is not read. The
   result is rank 0's. HC_INVALID for a backend whose queues cannot work beside each other. Threads
   of the backend are shared among the ranks. */
enum hc_status hc_train_ranks(const struct hc_train_options *options, int ranks,
                              struct hc_train_result *result);

#endif
