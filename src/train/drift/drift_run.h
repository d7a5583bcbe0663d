/* One training that drift looks at: a net and its update, whose numbers are read and set as fp64. */
#ifndef HC_TRAIN_DRIFT_DRIFT_RUN_H
#define HC_TRAIN_DRIFT_DRIFT_RUN_H

#include "train/drift/drift_rounding.h"

struct hc_drift_run {
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    struct hc_rounder rounder; /* rounds in a training in fp64 */
    bool rounds;
    int64_t weights; /* of all parameters, one after the other */
    double *g;       /* of the last pass, unscaled */
    double *before;  /* what hc_drift_run_set_weights gave, as the optimizer holds it */
};

enum hc_status hc_drift_run_open(struct hc_drift_run *run, const struct hc_drift_options *options,
                                 struct hc_queue *queue, const struct hc_recipe *recipe);
void hc_drift_run_close(struct hc_drift_run *run);

/* All of a state, one parameter after the other, to and from fp64; `put` rounds to nearest. */
enum hc_status hc_drift_run_get(struct hc_drift_run *run, enum hc_state_tensor state, double *to);
enum hc_status hc_drift_run_set(struct hc_drift_run *run, enum hc_state_tensor state,
                                const double *from);

/* What the optimizer works on becomes w by way of fp32 (nothing is rounded where that is fp64), and the
   model's copy follows it. */
enum hc_status hc_drift_run_set_weights(struct hc_drift_run *run, const double *w);

/* In fp64: back to the start, with no momenta and these weights; from now on these roundings. The
   masters' start is rounded if `rounded_start`. */
enum hc_status hc_drift_run_restart(struct hc_drift_run *run, const struct hc_rounding *rounding,
                                    const double *w, bool rounded_start);

/* A pass with the gradients of loss * scale: run->g and its loss. Rounded weights are the pass's
   alone. */
enum hc_status hc_drift_run_pass(struct hc_drift_run *run, const float *images,
                                 const int32_t *labels, float scale, float *loss);

/* The update with the gradients of the pass; where roundings are made, with those in run->g. */
enum hc_status hc_drift_run_update(struct hc_drift_run *run, double lr);

#endif
