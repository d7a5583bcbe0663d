#include "op/norm.h"

#include <assert.h>

const struct hc_bn_bwd_slots *hc_bn_bwd_slots(enum hc_op op)
{
    static const struct hc_bn_bwd_slots plain = {
        .x = HC_BN_BWD_X,
        .y = -1,
        .dy = HC_BN_BWD_DY,
        .gamma = HC_BN_BWD_GAMMA,
        .mean = HC_BN_BWD_MEAN,
        .invstd = HC_BN_BWD_INVSTD,
    };
    static const struct hc_bn_bwd_slots leaky = {
        .x = HC_BN_LEAKY_BWD_X,
        .y = HC_BN_LEAKY_BWD_Y,
        .dy = HC_BN_LEAKY_BWD_DY,
        .gamma = HC_BN_LEAKY_BWD_GAMMA,
        .mean = HC_BN_LEAKY_BWD_MEAN,
        .invstd = HC_BN_LEAKY_BWD_INVSTD,
    };
    assert(op == HC_OP_bn_bwd || op == HC_OP_bn_leaky_bwd);
    return op == HC_OP_bn_bwd ? &plain : &leaky;
}
