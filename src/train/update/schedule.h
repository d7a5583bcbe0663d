/* The one-cycle schedule (Smith, Super-convergence, 2018; fastai's form): a pure function of the
   step. */
#ifndef HC_TRAIN_UPDATE_SCHEDULE_H
#define HC_TRAIN_UPDATE_SCHEDULE_H

#include <stdint.h>

struct hc_rates {
    double lr;
    double beta1;
};

/* The rates of a step, as a pure function; `plan` is whatever it needs. */
typedef struct hc_rates hc_schedule(int64_t step, const void *plan);

/* The rates of step 0..steps-1. The learning rate rises linearly from max_lr / 25 to max_lr over
   the first half, beta1 falls linearly from .95 to .85; over the second half both follow half a
   cosine, the rate to max_lr / 25 / 1e4 and beta1 back to .95. The last step has exactly the end's
   rates. Computed in fp64; with a cosine in it, within 4 ulp of the real value relative to max_lr.
   */
struct hc_rates hc_one_cycle(double max_lr, int64_t steps, int64_t step);

#endif
