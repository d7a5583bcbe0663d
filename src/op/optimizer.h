/* Slots of the optimizers. */
#ifndef HC_OP_OPTIMIZER_H
#define HC_OP_OPTIMIZER_H

#include "op/op.h"

/* sgd */
enum { HC_SGD_W, HC_SGD_G, HC_SGD_MOMENTUM, HC_SGD_HYPER, HC_SGD_FOUND_INF, HC_SGD_COMPENSATION };
enum { HC_SGD_NEW_W, HC_SGD_NEW_MOMENTUM, HC_SGD_NEW_COMPENSATION };

/* adam and adamw */
enum {
    HC_ADAM_W,
    HC_ADAM_G,
    HC_ADAM_M,
    HC_ADAM_V,
    HC_ADAM_HYPER,
    HC_ADAM_FOUND_INF,
    HC_ADAM_COMPENSATION
};
enum { HC_ADAM_NEW_W, HC_ADAM_NEW_M, HC_ADAM_NEW_V, HC_ADAM_NEW_COMPENSATION };

/* Elements of a `hyper` tensor; `rates` writes it. */
enum { HC_HYPER_LR, HC_HYPER_BETA1, HC_HYPER_STEP, HC_HYPER_COUNT };

/* The slots in code that is generic over the optimizers. m is SGD's momentum, too; v and new_v are
   -1 in sgd. */
struct hc_optimizer_slots {
    int w, g, m, v, hyper, found_inf, compensation;
    int new_w, new_m, new_v, new_compensation;
};

const struct hc_optimizer_slots *hc_optimizer_slots(enum hc_op op);

#endif
