/* One training as drift measures it: a net and its update, whose numbers are read and set as fp64
   on the host. */
#ifndef HC_TRAIN_DRIFT_DRIFT_RUN_H
#define HC_TRAIN_DRIFT_DRIFT_RUN_H

#include <stdint.h>

#include "train/drift/drift.h"
#include "train/drift/drift_rounding.h"
#include "train/parallel/reduction.h"
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

/* The number of shards of a batch of the recipe; `ranks` is 0 where it stays in one piece. */
int hc_drift_shards(int ranks, const struct hc_recipe *recipe);

/* The batches of all steps: images in fp32 with a label each, or texts in i32 with one for each
   byte. */
struct hc_drift_batches {
    void *examples;
    int32_t *labels;
    size_t bytes; /* of an example */
    int places;   /* of an example that have a label */
    int batch;
};

static inline void *hc_drift_example(const struct hc_drift_batches *b, int64_t i)
{
    return (unsigned char *)b->examples + (size_t)i * b->bytes;
}

static inline int32_t *hc_drift_label(const struct hc_drift_batches *b, int64_t i)
{
    return b->labels + i * b->places;
}

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

/* What the optimizer works on becomes w, rounded through fp32 unless the training is in fp64, and
   the model's copy follows it. */
enum hc_status hc_drift_run_set_weights(struct hc_drift_run *run, const double *w);

/* For a training in fp64: goes back to the start, with no momenta and with the weights w. From now
   on it rounds as `rounding` says. `rounded_start` rounds the masters' start as well. */
enum hc_status hc_drift_run_restart(struct hc_drift_run *run, const struct hc_rounding *rounding,
                                    const double *w, bool rounded_start);

/* Forward and backward pass of a step's batch, shard by shard, with the gradients of loss * scale:
   gives run->g, averaged over shards, and the loss. Rounded weights are used in this pass alone. */
enum hc_status hc_drift_run_pass(struct hc_drift_run *run, int step,
                                 const struct hc_drift_batches *batches, float scale, float *loss);

/* The update with the gradients of the pass; where roundings are made, with those in run->g. */
enum hc_status hc_drift_run_update(struct hc_drift_run *run, double lr);

/* What quantising does to the operands of a recipe's convolutions, while it trains. */

struct hc_operand_sums {
    double difference; /* of the squares of decoded - x */
    double squares;    /* of x */
    double at_max;     /* how many */
    double flushed;
    double count;
    double least; /* of scales */
    double most;
};

/* By quantised convolution. */
struct hc_drift_operands {
    struct hc_operand_sums sums[HC_MAX_LAYERS][HC_QUANT_OF_DY + 1];
};

/* From now on the run adds what it quantises to these, which are empty at first. Nothing where it
   does not quantise. */
void hc_drift_operands_watch(struct hc_drift_run *run, struct hc_drift_operands *operands);

/* Empties them; adds one operand that was quantised (hc_quant_watch). */
void hc_drift_operands_clear(struct hc_drift_operands *operands);
enum hc_status hc_drift_operands_see(void *operands, int layer, enum hc_quant_role role,
                                     const struct hc_call *quantize);

/* What they come to in a quantised convolution; -1: in none. */
struct hc_drift_operand hc_drift_operand_of(const struct hc_drift_operands *operands, int layer,
                                            enum hc_quant_role role);

/* The fp64 baseline of a recipe, and the same run with roundings put into it.

   Measuring a rounding takes two runs through all steps, and a recipe is measured with 21
   choices of sources, or with all of them where its drift is shared out. Many of these round
   the same: a recipe without a master copy has no source there, and two recipes share their
   sources. What has been measured is therefore kept, in memos, and looked up by what the run
   can tell apart: the formats, the loss scales where they matter (a power of two changes
   nothing in fp32 and fp64), and whether steps are skipped, if one could be. */

/* Gradients and updates compared with those in fp64, as sums over elements and steps. */

struct hc_drift_sums {
    double difference; /* of the squares of got - want */
    double want;       /* of squares */
    double got;
    double both;  /* of products */
    double zeros; /* how many are 0 and not 0 in fp64 */
    double lost;  /* how many weights stay where they move in fp64 */
    double count;
};

/* By layer; [HC_MAX_LAYERS] is the network's. */
typedef struct hc_drift_sums hc_drift_layer_sums[HC_MAX_LAYERS + 1];

/* Adds the run's gradients, in run->g, compared with `want`. */
void hc_drift_sum_gradients(hc_drift_layer_sums sums, const struct hc_drift_run *run,
                            const double *want);

/* Adds the weights that fp64 moves from `before` to `after` and the run does not move: it had
   run->before, and has `now`. */
void hc_drift_sum_lost(hc_drift_layer_sums sums, const struct hc_drift_run *run,
                       const double *before, const double *after, const double *now);

struct hc_drift_layer hc_drift_sum_layer(const struct hc_drift_sums *sums);

bool hc_all_finite(const double *x, int64_t n);

double hc_length(const double *x, int64_t n); /* the Euclidean norm */

/* The scales of a recipe at the steps of its two runs, and whether its rule skips a step whose
   gradients are not finite. */
struct hc_drift_scales {
    const float *forced;
    const float *free;
    bool skips;
};

/* The two runs of a rounding. */
enum { HC_RUN_FORCED = 1, HC_RUN_FREE = 2 };

/* Effect of a set of roundings on the fp64 run. */
struct hc_drift_effect {
    double gradient;          /* relative error of the gradient at the fp64 weights */
    const double *squares;    /* by step: of that error, absolute; NaN where it is not finite. The
                                 baseline keeps them */
    double distance;          /* relative distance of the final weights of a free run */
    double residual_gradient; /* the same against the recipe's own run, if there is one */
    double residual_distance;
};

/* The recipe's own two runs, to compare with. */
struct hc_native_run {
    const double *g;   /* gradients at each step's fp64 weights */
    const double *end; /* weights after the last step of the free run */
};

struct hc_drift_memo;

struct hc_drift_baseline {
    struct hc_drift_baseline *next;
    const struct hc_drift_options *options;
    const struct hc_drift_batches *batches;
    struct hc_recipe recipe; /* in fp64 */
    struct hc_drift_run run;
    int64_t weights;
    double *w;    /* before each step, and after the last */
    double *g;    /* of each step */
    double *size; /* by step: the norm of the mean of shards' |g|, in units of the next */
    double *norm; /* by step: the gradient's */
    double loss;
    int64_t passes; /* with roundings */

    struct hc_drift_memo *memos;
    double *latest; /* the first step's gradient under the rounding that was measured last */
    struct hc_rounding latest_rounding;
    float latest_scale;
    bool has_latest;
};

/* Opens it and runs it through all steps. */
enum hc_status hc_baseline_open(struct hc_drift_baseline *baseline,
                                const struct hc_drift_options *options,
                                const struct hc_drift_batches *batches, struct hc_queue *queue,
                                const struct hc_recipe *recipe);
void hc_baseline_close(struct hc_drift_baseline *baseline);

/* Runs with roundings: teacher-forced, free, or both, and only these numbers of the effect are set.
   A memo spares the runs, unless there is a native run to compare with; NULL: there is none. */
enum hc_status hc_baseline_measure(struct hc_drift_baseline *baseline,
                                   const struct hc_rounding *rounding,
                                   const struct hc_drift_scales *scales,
                                   const struct hc_native_run *native, int runs,
                                   struct hc_drift_effect *effect);

/* |x - from| / |the fp64 weights' way from start to end|. */
double hc_baseline_distance(const struct hc_drift_baseline *baseline, const double *x,
                            const double *from);

#endif
