#include "train/update/schedule.h"

#include <assert.h>
#include <math.h>

static const double start_division = 25;
static const double end_division = 1e4;
static const double beta_high = 0.95;
static const double beta_low = 0.85;
static const double pi = 3.141592653589793;

struct hc_rates hc_one_cycle(double max_lr, int64_t steps, int64_t step)
{
    assert(step >= 0 && step < steps);
    double start = max_lr / start_division;
    double end = start / end_division;
    double at = steps > 1 ? (double)step / (double)(steps - 1) : 0;
    if (at <= 0.5) {
        double up = 2 * at;
        return (struct hc_rates){.lr = start + up * (max_lr - start),
                                 .beta1 = beta_high - up * (beta_high - beta_low)};
    }
    /* 1 at the peak, 0 at the end; at the end cos is exactly -1. */
    double left = 0.5 + 0.5 * cos(pi * (2 * at - 1));
    return (struct hc_rates){.lr = end + left * (max_lr - end),
                             .beta1 = beta_high - left * (beta_high - beta_low)};
}
