/* The descriptors of op/norm.h. */
#include "op/norm.h"

#include <assert.h>

#include "op/families.h"
#include "op/rule.h"

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

/* Statistics and gradients of no elements have no value. */
static enum hc_status batch(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    if (x->rank < 2)
        return hc_rule_rank(call, x, 4);
    if (x->shape[x->rank - 1] > 0 && hc_tensor_count(x) == 0)
        return hc_fail(HC_INVALID, "%s: an empty batch", hc_ops[call->op].name);
    return HC_OK;
}

static int64_t length(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    int64_t n = 1;
    for (int d = 0; d < x->rank - 1; d++)
        n *= x->shape[d];
    return n;
}

static const struct hc_descriptor train = {
    .in = {[HC_BN_X] = {"x", HC_ALLOW_FLOAT, .shape = "[N, H, W, C]", .note = "any rank from 2 on",
                        .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION},
           [HC_BN_GAMMA] = {"gamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_GAIN},
           [HC_BN_BETA] = {"beta", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},
           [HC_BN_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},
           [HC_BN_VARIANCE] = {"variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                               .values = HC_VALUES_VARIANCE}},
    .out = {[HC_BN_Y] = {"y", HC_ALLOW_FLOAT},
            [HC_BN_SAVED_MEAN] = {"saved_mean", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},
            [HC_BN_SAVED_INVSTD] = {"saved_invstd", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},
            [HC_BN_NEW_MEAN] = {"new_mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .like = HC_BN_MEAN,
                                .in_place = true},
            [HC_BN_NEW_VARIANCE] = {"new_variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                    .like = HC_BN_VARIANCE, .in_place = true}},
    .fp64 = true,
    .cancels = true,
    .rule = batch,
    .length = length,
};

static const struct hc_descriptor infer = {
    .in = {[HC_BN_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION},
           [HC_BN_GAMMA] = {"gamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_GAIN},
           [HC_BN_BETA] = {"beta", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},
           [HC_BN_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},
           [HC_BN_VARIANCE] = {"variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                               .values = HC_VALUES_VARIANCE}},
    .out = {[HC_BN_Y] = {"y", HC_ALLOW_FLOAT}},
    .fp64 = true,
};

static const struct hc_descriptor bwd = {
    .in = {[HC_BN_BWD_X] = {"x", HC_ALLOW_FLOAT, .shape = "[N, H, W, C]",
                            .note = "any rank from 2 on", .values = HC_VALUES_DATA,
                            .pass = HC_PASS_ACTIVATION},
           [HC_BN_BWD_DY] = {"dy", HC_ALLOW_FLOAT, .values = HC_VALUES_FACTOR,
                             .pass = HC_PASS_GRADIENT},
           [HC_BN_BWD_GAMMA] = {"gamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                .values = HC_VALUES_GAIN},
           [HC_BN_BWD_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                               .values = HC_VALUES_OFFSET},
           [HC_BN_BWD_INVSTD] = {"invstd", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                 .values = HC_VALUES_GAIN}},
    .out = {[HC_BN_BWD_DX] = {"dx", HC_ALLOW_FLOAT},
            [HC_BN_BWD_DGAMMA] = {"dgamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS},
            [HC_BN_BWD_DBETA] = {"dbeta", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS}},
    .fp64 = true,
    .cancels = true,
    .rule = batch,
    .length = length,
};

/* Of y only the sign is read. */
static const struct hc_descriptor leaky_bwd = {
    .in = {[HC_BN_LEAKY_BWD_X] = {"x", HC_ALLOW_FLOAT, .shape = "[N, H, W, C]",
                                  .note = "any rank from 2 on", .values = HC_VALUES_DATA,
                                  .pass = HC_PASS_ACTIVATION},
           [HC_BN_LEAKY_BWD_Y] = {"y", HC_ALLOW_FLOAT, .values = HC_VALUES_FACTOR},
           [HC_BN_LEAKY_BWD_DY] = {"dy", HC_ALLOW_LIKE, .like = HC_BN_LEAKY_BWD_Y,
                                   .values = HC_VALUES_FACTOR, .pass = HC_PASS_GRADIENT},
           [HC_BN_LEAKY_BWD_GAMMA] = {"gamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                      .values = HC_VALUES_GAIN},
           [HC_BN_LEAKY_BWD_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                     .values = HC_VALUES_OFFSET},
           [HC_BN_LEAKY_BWD_INVSTD] = {"invstd", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                       .values = HC_VALUES_GAIN}},
    .out = {[HC_BN_BWD_DX] = {"dx", HC_ALLOW_FLOAT},
            [HC_BN_BWD_DGAMMA] = {"dgamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS},
            [HC_BN_BWD_DBETA] = {"dbeta", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS}},
    .fp64 = true,
    .cancels = true,
    .rule = batch,
    .length = length,
};

const struct hc_descriptor *const hc_norm_ops[HC_OP_COUNT] = {
    [HC_OP_bn_train] = &train,       [HC_OP_bn_infer] = &infer,
    [HC_OP_bn_bwd] = &bwd,           [HC_OP_bn_leaky_train] = &train,
    [HC_OP_bn_leaky_infer] = &infer, [HC_OP_bn_leaky_bwd] = &leaky_bwd,
};
