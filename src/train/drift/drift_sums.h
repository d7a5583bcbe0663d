/* Gradients and updates compared with those in fp64, as sums over elements and steps. */
#ifndef HC_TRAIN_DRIFT_DRIFT_SUMS_H
#define HC_TRAIN_DRIFT_DRIFT_SUMS_H

#include "train/drift/drift_run.h"

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

#endif
