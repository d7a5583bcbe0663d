/* The update that a step meant for a weight, whatever its arithmetic made of it: what the
   optimizer's contract (op/optimizer.h) asks for, in fp64, from the state after the step. */
#ifndef HC_TRAIN_UPDATE_INTENT_H
#define HC_TRAIN_UPDATE_INTENT_H

#include "train/update/update.h"

struct hc_intent {
    const struct hc_recipe *recipe;
    double lr; /* with its factor */
    double beta1;
    double l2;     /* weight decay that is added to the gradient, else 0 */
    double decay;  /* decoupled: lr * weight decay, else 0 */
    double first;  /* 1 - beta1^t */
    double second; /* 1 - beta2^t */
    double eps;    /* in the arithmetic's format */
};

/* For weights of that plan, in the optimizer's `taken`-th step. */
struct hc_intent hc_intent_make(const struct hc_recipe *recipe, const struct hc_slot_plan *plan,
                                int64_t taken, double lr, double beta1);

/* Takes w before the step, its unscaled gradient, and m and v after the step (SGD ignores v). The
   weight was to become w minus the result. */
double hc_intent_update(const struct hc_intent *intent, double w, double g, double m, double v);

#endif
