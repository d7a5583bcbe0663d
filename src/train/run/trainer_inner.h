/* The inside of a training run, for the files that loop, log and keep its state. */
#ifndef HC_TRAIN_RUN_TRAINER_INNER_H
#define HC_TRAIN_RUN_TRAINER_INNER_H

#include <stdio.h>

#include "train/parallel/parallel.h"
#include "train/parallel/reduction.h"
#include "train/run/feed.h"
#include "train/run/metrics.h"
#include "train/run/state.h"
#include "train/run/trainer.h"

enum { HC_LOGS = 3, HC_GIVE_UP = 100 };

/* Sums and counts over the run, all of which the checkpoint keeps: hc_run_totals_fields lists them
   (state.c). */
struct hc_run_totals {
    int64_t first; /* step of the run: 0, or that of the file it began with */
    int64_t step;  /* done in all, those before the first included */
    int64_t skipped;
    double smooth;
    double epoch_loss;
    int64_t epoch_right;
    int64_t epoch_skipped; /* skipped in all when the epoch began */
    int64_t measured;      /* steps of which it was measured what they lose */
    double underflow;      /* sums over these steps */
    double unscaled;
    double activation_underflow;
    double activation_unscaled;
    double update_lost;
    int64_t updates;   /* those of them that were not skipped */
    int64_t bad;       /* steps in a row whose loss was not finite, up to the last one */
    double train_loss; /* of the last epoch that ended */
    double test_loss;
    double accuracy;
    struct hc_histogram histogram; /* of this epoch */
};

struct hc_run {
    struct hc_train_options options; /* with its defaults filled in */
    struct hc_parallel parallel;
    struct hc_shards *shards; /* NULL: the batch is whole (shared.c) */
    bool keeps;               /* rank 0 writes checkpoints */
    char apart[120];          /* which rank came to other weights, or "" */
    int64_t batches;          /* in an epoch */
    int64_t steps;            /* in all */
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    struct hc_metrics *metrics;
    struct hc_quant_metrics *quant; /* or NULL */
    struct hc_feed *train;
    struct hc_feed *test;
    struct hc_storage *results; /* of an evaluation: loss and right of each batch */
    int64_t rows; /* of the step log: how many steps may be queued before it is read */
    struct hc_step_log_row *step_log;
    struct hc_counters counters; /* after the last block */
    struct hc_graph *graph;      /* a step, or NULL */
    bool tried;                  /* to capture one */
    char captured[160];          /* "captured", or why not */
    struct hc_work work;         /* of the last step that was captured or queued as a whole */
    struct hc_tensor_list dump;  /* of the step that is being dumped */
    FILE *log[HC_LOGS];          /* steps.csv, epochs.csv, gradients.csv; NULL without a folder */
    struct hc_run_totals totals;
    uint64_t data;        /* hash of the images, 0 before it is asked for */
    float loss;           /* of the last step */
    double rate;          /* images a second of this epoch */
    double seconds;       /* of training in this call */
    double epoch_seconds; /* of training in this epoch and this call */
    int64_t images;       /* trained in this call */
    int64_t epoch_images;
};

double hc_run_now(void); /* seconds */

bool hc_run_over(const struct hc_run *run);

/* What the step log says of a step. */
struct hc_step_facts {
    float loss;
    int right;
    float scale; /* that the step had */
    bool skipped;
    bool measured; /* the metrics are this step's */
    double lr;
    double beta1;
};

/* Which batches of the test set this rank evaluates (trainer_evaluate.c), of several: b with b mod
   ranks = rank. Loss and accuracy on all of them become the totals'. Collective. */
struct hc_batch_take hc_evaluation_take(const struct hc_run *run);
enum hc_status hc_evaluate(struct hc_run *run);

/* Steps (trainer_step.c). hc_steps_run queues n of them from totals.step on and waits for them; a
   measured step comes alone. hc_steps_facts is about one of those. */
enum hc_status hc_steps_open(struct hc_run *run);
void hc_steps_close(struct hc_run *run);
enum hc_status hc_steps_run(struct hc_run *run, int64_t n, bool measures);
struct hc_step_facts hc_steps_facts(const struct hc_run *run, int64_t step);

/* Dumps (dump.c): whether the steps that are asked for are the run's; the next one from `step` on,
   or INT64_MAX. In such a step hc_dump_before comes first of all, hc_dump_passes behind its
   backward pass, and hc_dump_after, which writes the file, behind its update; `before` are the
   rates of the step before, or NULL. */
enum hc_status hc_dump_check(const struct hc_run *run);
int64_t hc_dump_next(const struct hc_run *run, int64_t step);
enum hc_status hc_dump_before(struct hc_run *run);
enum hc_status hc_dump_passes(struct hc_run *run);
enum hc_status hc_dump_after(struct hc_run *run, struct hc_rates rates,
                             const struct hc_rates *before);

/* The logs (trainer_log.c). Opens the files: new ones, or, to resume, the old ones without the rows
   that will be written again. */
enum hc_status hc_log_open(struct hc_run *run);
void hc_log_close(struct hc_run *run);

enum hc_status hc_log_step(struct hc_run *run, const struct hc_step_facts *facts);
enum hc_status hc_log_flush(struct hc_run *run);

/* Forces the rows onto the disk, before a checkpoint that counts on them. */
enum hc_status hc_log_sync(struct hc_run *run);
enum hc_status hc_log_epoch(struct hc_run *run, int64_t epoch);

/* Begins with the file options.load (load.c); before the feeds are opened, too. */
enum hc_status hc_load_read(struct hc_run *run);

/* Steps that this run did of the present epoch, in which it may have begun. */
int64_t hc_run_epoch_steps(const struct hc_run *run, int64_t epoch);

/* All state, to out/checkpoint and back (state.c). hc_state_read must come before the feeds are
   opened, which begin at its step. */
enum hc_status hc_state_write(struct hc_run *run);
enum hc_status hc_state_read(struct hc_run *run);

/* A run that several ranks, or several shards, share (shared.c).

   The shards of a step. Opens what averages gradients, where there are shards, and lets ranks agree
   on infinities. */
enum hc_status hc_shards_open(struct hc_run *run);
void hc_shards_close(struct hc_run *run);

/* After each shard's backward pass; `shard` counts this rank's own. */
enum hc_status hc_shards_add(struct hc_run *run, int shard);

/* Collective. Averages the gradients of all shards into the model's, and the losses into the
   net's. */
enum hc_status hc_shards_average(struct hc_run *run);

/* State. All are collective, and nothing where there is one rank. */

/* What rank 0 begins with becomes everybody's: weights and all other state, counts, totals. */
enum hc_status hc_shared_begin(struct hc_run *run);

/* The running statistics, which are rank 0's. */
enum hc_status hc_shared_statistics(struct hc_run *run);

/* Whether all ranks have the same weights and state, bit by bit. If not, run->apart says which rank
   has not, and all ranks know it. */
enum hc_status hc_shared_compare(struct hc_run *run);

#endif
