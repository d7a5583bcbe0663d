/* The update of a weight that an optimizer's contract (op/call.h) asks for, in fp64, from its state
   after the step: what the step meant, whatever the arithmetic made of it. */
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

/* For a convolution's or linear weights, in the step that was the optimizer's `taken`-th. */
struct hc_intent hc_intent_make(const struct hc_recipe *recipe, const struct hc_slot_plan *plan,
                                int64_t taken, double lr, double beta1);

/* w before the step, its gradient unscaled, m and v after it (SGD: v is ignored); the weight becomes w
   minus the result. */
double hc_intent_update(const struct hc_intent *intent, double w, double g, double m, double v);

#endif
