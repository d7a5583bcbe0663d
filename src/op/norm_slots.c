/* Where the gradients of batch norm have their operands. */
#include <assert.h>

#include "op/norm.h"

const struct hc_bn_bwd_slots *hc_bn_bwd_slots(enum hc_op op)
{
    static const struct hc_bn_bwd_slots plain = {
        .x = HC_BN_BWD_X,
        .y = -1,
        .dy = HC_BN_BWD_DY,
        .gamma = HC_BN_BWD_GAMMA,
        .mean = HC_BN_BWD_MEAN,
        .invstd = HC_BN_BWD_INVSTD,
        .dx = HC_BN_BWD_DX,
        .dgamma = HC_BN_BWD_DGAMMA,
        .dbeta = HC_BN_BWD_DBETA,
    };
    static const struct hc_bn_bwd_slots leaky = {
        .x = HC_BN_LEAKY_BWD_X,
        .y = HC_BN_LEAKY_BWD_Y,
        .dy = HC_BN_LEAKY_BWD_DY,
        .gamma = HC_BN_LEAKY_BWD_GAMMA,
        .mean = HC_BN_LEAKY_BWD_MEAN,
        .invstd = HC_BN_LEAKY_BWD_INVSTD,
        .dx = HC_BN_BWD_DX,
        .dgamma = HC_BN_BWD_DGAMMA,
        .dbeta = HC_BN_BWD_DBETA,
    };
    static const struct hc_bn_bwd_slots sums = {
        .x = HC_BN_BWD_SUMS_X,
        .y = -1,
        .dy = HC_BN_BWD_SUMS_DY,
        .gamma = -1,
        .mean = HC_BN_BWD_SUMS_MEAN,
        .invstd = HC_BN_BWD_SUMS_INVSTD,
        .dx = -1,
        .dgamma = HC_BN_BWD_SUMS_DGAMMA,
        .dbeta = HC_BN_BWD_SUMS_DBETA,
    };
    static const struct hc_bn_bwd_slots apply = {
        .x = HC_BN_BWD_APPLY_X,
        .y = -1,
        .dy = HC_BN_BWD_APPLY_DY,
        .gamma = HC_BN_BWD_APPLY_GAMMA,
        .mean = HC_BN_BWD_APPLY_MEAN,
        .invstd = HC_BN_BWD_APPLY_INVSTD,
        .dx = HC_BN_BWD_APPLY_DX,
        .dgamma = -1,
        .dbeta = -1,
    };
    switch (op) {
    case HC_OP_bn_bwd:
        return &plain;
    case HC_OP_bn_leaky_bwd:
        return &leaky;
    case HC_OP_bn_bwd_sums:
        return &sums;
    default:
        assert(op == HC_OP_bn_bwd_apply);
        return &apply;
    }
}
