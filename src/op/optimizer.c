#include "op/optimizer.h"

#include <assert.h>

const struct hc_optimizer_slots *hc_optimizer_slots(enum hc_op op)
{
    static const struct hc_optimizer_slots sgd = {
        .w = HC_SGD_W,
        .g = HC_SGD_G,
        .m = HC_SGD_MOMENTUM,
        .v = -1,
        .hyper = HC_SGD_HYPER,
        .found_inf = HC_SGD_FOUND_INF,
        .compensation = HC_SGD_COMPENSATION,
        .new_w = HC_SGD_NEW_W,
        .new_m = HC_SGD_NEW_MOMENTUM,
        .new_v = -1,
        .new_compensation = HC_SGD_NEW_COMPENSATION,
    };
    static const struct hc_optimizer_slots adam = {
        .w = HC_ADAM_W,
        .g = HC_ADAM_G,
        .m = HC_ADAM_M,
        .v = HC_ADAM_V,
        .hyper = HC_ADAM_HYPER,
        .found_inf = HC_ADAM_FOUND_INF,
        .compensation = HC_ADAM_COMPENSATION,
        .new_w = HC_ADAM_NEW_W,
        .new_m = HC_ADAM_NEW_M,
        .new_v = HC_ADAM_NEW_V,
        .new_compensation = HC_ADAM_NEW_COMPENSATION,
    };
    assert(op == HC_OP_sgd || op == HC_OP_adam || op == HC_OP_adamw);
    return op == HC_OP_sgd ? &sgd : &adam;
}
