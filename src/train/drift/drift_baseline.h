/* The fp64 baseline of a recipe, and the same run with roundings put into it.

   Measuring a rounding takes two runs through all steps, and a recipe is measured with 21
   choices of sources, or with all of them where its drift is shared out. Many of these round
   the same: a recipe without a master copy has no source there, and two recipes share their
   sources. What has been measured is therefore kept, in memos, and looked up by what the run
   can tell apart: the formats, the loss scales where they matter (a power of two changes
   nothing in fp32 and fp64), and whether steps are skipped, if one could be. */
#ifndef HC_TRAIN_DRIFT_DRIFT_BASELINE_H
#define HC_TRAIN_DRIFT_DRIFT_BASELINE_H

#include "train/drift/drift_run.h"

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

/* The sum of squares of x - y. */
double hc_squares(const double *x, const double *y, int64_t n);

/* The batches of all steps. */
struct hc_drift_batches {
    float *images;
    int32_t *labels;
    int64_t floats; /* of a batch's images */
    int batch;
};

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
