/* The learning-rate finder: a training whose rate grows geometrically from step to step until the
   loss runs away (Smith, Cyclical learning rates for training neural networks, 2017), with fastai
   1.0.61's numbers: callbacks/lr_finder.py (LRFinder) and basic_train.py (Recorder.plot). */
#ifndef HC_TRAIN_RUN_LR_FIND_H
#define HC_TRAIN_RUN_LR_FIND_H

#include "train/run/trainer.h"

/* Step i of `steps` has the rate from * (to / from)^(i / steps), before the recipe's factors. beta1
   is 0.9 in every step. */
struct hc_lr_range {
    double from;
    double to;
    int steps;
};

extern const struct hc_lr_range hc_lr_usual; /* fastai's: 1e-7, 10, 100 */

struct hc_lr_point {
    double lr;
    double loss;     /* of the step's batch, before its update */
    double smooth;   /* exponential mean of the losses, weight 0.02, bias corrected */
    double scale;    /* after the step */
    int64_t skipped; /* so far */
};

/* Both suggestions leave out the first ten and the last five points of the smoothed loss. They are
   NaN if fewer than two points are left. */
struct hc_lr_found {
    int points;
    bool diverged; /* the smoothed loss came to more than four times its least, or was NaN */
    /* The rate at which the loss falls fastest, from the start to its minimum. (fastai's "min
       numerical gradient" takes numpy.gradient's central differences over all points, also behind
       the minimum, where a loss that runs away falls now and then.) */
    double steepest;
    double tenth; /* a tenth of the rate at which the loss is least */
};

/* The suggestions of n points. */
void hc_lr_suggest(const struct hc_lr_point *points, int n, struct hc_lr_found *found);

/* Trains as the options say, for at most range->steps steps, into points[range->steps]. The options
   epochs, max_lr, schedule, out, resume, checkpoint_every and measure_every do not count; progress
   is called as in any training. Returns what hc_train returns. */
enum hc_status hc_lr_find(const struct hc_train_options *options, const struct hc_lr_range *range,
                          struct hc_lr_point *points, struct hc_lr_found *found);

/* The points as rows "step,lr,loss,smooth,scale,skipped" below a line of these names. HC_IO. */
enum hc_status hc_lr_write(const char *path, const struct hc_lr_point *points, int n);

#endif
