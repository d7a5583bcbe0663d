/* A run in fp64, and the same with roundings put into it. */
#ifndef HC_TRAIN_DRIFT_DRIFT_BASELINE_H
#define HC_TRAIN_DRIFT_DRIFT_BASELINE_H

#include "train/drift/drift_sums.h"

/* The batches of all steps. */
struct hc_drift_batches {
    float *images;
    int32_t *labels;
    int64_t floats; /* of a batch's images */
    int batch;
};

/* The scales of a recipe at the steps of its two runs, and what its rule does with a gradient that is
   not finite. */
struct hc_drift_scales {
    const float *forced;
    const float *free;
    bool skips;
};

/* What came of a rounding. */
struct hc_drift_effect {
    double gradient;
    double distance;
    double residual_gradient; /* only where there was a recipe to compare with */
    double residual_distance;
};

/* A recipe's own runs, to compare with: gradients at each step's weights of fp64, and the weights after
   the last step of the free run. */
struct hc_native_run {
    const double *g;
    const double *end;
};

struct hc_drift_memo; /* roundings whose outcome is known */

struct hc_drift_baseline {
    struct hc_drift_baseline *next;
    const struct hc_drift_options *options;
    const struct hc_drift_batches *batches;
    struct hc_recipe recipe; /* in fp64 */
    struct hc_drift_run subject;
    int64_t weights;
    double *w; /* before each step, and after the last */
    double *g; /* of each step */
    double loss;
    int64_t passes; /* with roundings */

    struct hc_drift_memo *memos;
    double *latest; /* the first step's gradient under the rounding that was looked at last */
    struct hc_rounding latest_rounding;
    float latest_scale;
    bool has_latest;
};

/* Runs it in fp64. */
enum hc_status hc_baseline_open(struct hc_drift_baseline *baseline,
                                const struct hc_drift_options *options,
                                const struct hc_drift_batches *batches, struct hc_queue *queue,
                                const struct hc_recipe *recipe);
void hc_baseline_close(struct hc_drift_baseline *baseline);

/* With roundings, forced and free; what is known already is not run again, unless there is a recipe to
   compare with (`own`, or NULL). */
enum hc_status hc_baseline_measure(struct hc_drift_baseline *baseline,
                                   const struct hc_rounding *rounding,
                                   const struct hc_drift_scales *scales,
                                   const struct hc_native_run *own, struct hc_drift_effect *found);

/* |x - the weights at the end| / |the way that they went|. */
double hc_baseline_distance(const struct hc_drift_baseline *baseline, const double *x,
                            const double *from);

#endif
