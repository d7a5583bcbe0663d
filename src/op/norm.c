/* The descriptors of op/norm.h. */
#include "op/norm.h"

#include <assert.h>

#include "op/families.h"
#include "op/params.h"
#include "op/rule.h"

/* Batch norm without leaky ReLU begins behind the slope. */
static const struct hc_param bn_leaky_train_params[] = {
    {"slope", HC_PARAM_REAL, offsetof(union hc_params, bn.slope), .usual = "0.01"},
    {"eps", HC_PARAM_REAL, offsetof(union hc_params, bn.eps), .usual = "1e-5"},
    {"momentum", HC_PARAM_REAL, offsetof(union hc_params, bn.momentum), .usual = "0.1"},
    {0},
};

/* The backward pass has 1 / sqrt(variance + eps) from training; libraries take eps all the same. */
static const struct hc_param bn_leaky_params[] = {
    {"slope", HC_PARAM_REAL, offsetof(union hc_params, bn.slope), .usual = "0.01"},
    {"eps", HC_PARAM_REAL, offsetof(union hc_params, bn.eps), .usual = "1e-5"},
    {0},
};

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

/* Of no elements nothing is made, which is no error. */
static enum hc_status channels(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    return x->rank < 2 ? hc_rule_rank(call, x, 4) : HC_OK;
}

static int64_t length(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    int64_t n = 1;
    for (int d = 0; d < x->rank - 1; d++)
        n *= x->shape[d];
    return n;
}

#define TRAIN                                                                                      \
    .in = {[HC_BN_X] = {"x", HC_ALLOW_FLOAT, .shape = "[N, H, W, C]",                              \
                        .note = "any rank from 2 on", .values = HC_VALUES_DATA,                    \
                        .pass = HC_PASS_ACTIVATION},                                               \
           [HC_BN_GAMMA] = {"gamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_GAIN},  \
           [HC_BN_BETA] = {"beta", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},  \
           [HC_BN_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},  \
           [HC_BN_VARIANCE] = {"variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,                       \
                               .values = HC_VALUES_VARIANCE}},                                     \
    .out = {[HC_BN_Y] = {"y", HC_ALLOW_FLOAT},                                                     \
            [HC_BN_SAVED_MEAN] = {"saved_mean", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},                  \
            [HC_BN_SAVED_INVSTD] = {"saved_invstd", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},              \
            [HC_BN_NEW_MEAN] = {"new_mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .like = HC_BN_MEAN,  \
                                .in_place = true},                                                 \
            [HC_BN_NEW_VARIANCE] = {"new_variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,              \
                                    .like = HC_BN_VARIANCE, .in_place = true}},                    \
    .fp64 = true, .cancels = true, .rule = batch, .length = length

static const struct hc_descriptor train = {TRAIN, .params = bn_leaky_train_params + 1};
static const struct hc_descriptor leaky_train = {TRAIN, .params = bn_leaky_train_params};

#define INFER                                                                                      \
    .in = {[HC_BN_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA,                             \
                        .pass = HC_PASS_ACTIVATION},                                               \
           [HC_BN_GAMMA] = {"gamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_GAIN},  \
           [HC_BN_BETA] = {"beta", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},  \
           [HC_BN_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS, .values = HC_VALUES_OFFSET},  \
           [HC_BN_VARIANCE] = {"variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,                       \
                               .values = HC_VALUES_VARIANCE}},                                     \
    .out = {[HC_BN_Y] = {"y", HC_ALLOW_FLOAT}}, .fp64 = true

static const struct hc_descriptor infer = {INFER, .params = bn_leaky_params + 1};
static const struct hc_descriptor leaky_infer = {INFER, .params = bn_leaky_params};

static const struct hc_descriptor bwd = {
    .params = bn_leaky_params + 1,
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
    .params = bn_leaky_params,
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

static const struct hc_descriptor moments = {
    .in = {[HC_BN_MOMENTS_X] = {"x", HC_ALLOW_FLOAT, .shape = "[N, H, W, C]",
                                .note = "any rank from 2 on", .values = HC_VALUES_DATA,
                                .pass = HC_PASS_ACTIVATION}},
    .out = {[HC_BN_MOMENTS_MEAN] = {"mean", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},
            [HC_BN_MOMENTS_VARIANCE] = {"variance", HC_ALLOW_WIDE, HC_SIZE_CHANNELS}},
    .fp64 = true,
    .cancels = true,
    .rule = batch,
    .length = length,
};

/* Of so many ranks at least one, each with a count. */
static enum hc_status ranks(const struct hc_call *call)
{
    const int64_t count = length(call);
    const struct hc_tensor *means = &call->in[HC_BN_COMBINE_MEANS];
    if (means->rank < 2)
        return hc_rule_rank(call, means, 2);
    if (count == 0)
        return hc_fail(HC_INVALID, "%s: no ranks", hc_ops[call->op].name);
    return hc_rule_shape(call, &call->in[HC_BN_COMBINE_COUNTS], 1, &count);
}

static const struct hc_descriptor combine = {
    .params = bn_leaky_train_params + 1,
    .in = {[HC_BN_COMBINE_MEANS] = {"means", HC_ALLOW_FLOAT, .shape = "[R, C]",
                                    .note = "any rank from 2 on", .values = HC_VALUES_DATA},
           [HC_BN_COMBINE_VARIANCES] = {"variances", HC_ALLOW_LIKE, .like = HC_BN_COMBINE_MEANS,
                                        .values = HC_VALUES_VARIANCE},
           [HC_BN_COMBINE_COUNTS] = {"counts", HC_ALLOW_I32, HC_SIZE_RULE, .shape = "[R]",
                                     .values = HC_VALUES_SHARE},
           [HC_BN_COMBINE_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                   .values = HC_VALUES_OFFSET},
           [HC_BN_COMBINE_VARIANCE] = {"variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                       .values = HC_VALUES_VARIANCE}},
    .out = {[HC_BN_COMBINE_SAVED_MEAN] = {"saved_mean", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},
            [HC_BN_COMBINE_SAVED_VARIANCE] = {"saved_variance", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},
            [HC_BN_COMBINE_SAVED_INVSTD] = {"saved_invstd", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},
            [HC_BN_COMBINE_NEW_MEAN] = {"new_mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                        .like = HC_BN_COMBINE_MEAN, .in_place = true},
            [HC_BN_COMBINE_NEW_VARIANCE] = {"new_variance", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                            .like = HC_BN_COMBINE_VARIANCE, .in_place = true}},
    .fp64 = true,
    .cancels = true,
    .rule = ranks,
    .length = length,
};

static const struct hc_descriptor bwd_sums = {
    .in = {[HC_BN_BWD_SUMS_X] = {"x", HC_ALLOW_FLOAT, .shape = "[N, H, W, C]",
                                 .note = "any rank from 2 on", .values = HC_VALUES_DATA,
                                 .pass = HC_PASS_ACTIVATION},
           [HC_BN_BWD_SUMS_DY] = {"dy", HC_ALLOW_FLOAT, .values = HC_VALUES_FACTOR,
                                  .pass = HC_PASS_GRADIENT},
           [HC_BN_BWD_SUMS_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                    .values = HC_VALUES_OFFSET},
           [HC_BN_BWD_SUMS_INVSTD] = {"invstd", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                      .values = HC_VALUES_GAIN}},
    .out = {[HC_BN_BWD_SUMS_DGAMMA] = {"dgamma", HC_ALLOW_WIDE, HC_SIZE_CHANNELS},
            [HC_BN_BWD_SUMS_DBETA] = {"dbeta", HC_ALLOW_WIDE, HC_SIZE_CHANNELS}},
    .fp64 = true,
    .cancels = true,
    .rule = batch,
    .length = length,
};

static const struct hc_descriptor bwd_apply = {
    .in = {[HC_BN_BWD_APPLY_X] = {"x", HC_ALLOW_FLOAT, .shape = "[N, H, W, C]",
                                  .note = "any rank from 2 on", .values = HC_VALUES_DATA,
                                  .pass = HC_PASS_ACTIVATION},
           [HC_BN_BWD_APPLY_DY] = {"dy", HC_ALLOW_FLOAT, .values = HC_VALUES_FACTOR,
                                   .pass = HC_PASS_GRADIENT},
           [HC_BN_BWD_APPLY_GAMMA] = {"gamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                      .values = HC_VALUES_GAIN},
           [HC_BN_BWD_APPLY_MEAN] = {"mean", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                     .values = HC_VALUES_OFFSET},
           [HC_BN_BWD_APPLY_INVSTD] = {"invstd", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                       .values = HC_VALUES_GAIN},
           [HC_BN_BWD_APPLY_MEAN_DGAMMA] = {"mean_dgamma", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                            .values = HC_VALUES_OFFSET},
           [HC_BN_BWD_APPLY_MEAN_DBETA] = {"mean_dbeta", HC_ALLOW_FLOAT, HC_SIZE_CHANNELS,
                                           .values = HC_VALUES_OFFSET}},
    .out = {[HC_BN_BWD_APPLY_DX] = {"dx", HC_ALLOW_FLOAT}},
    .fp64 = true,
    .cancels = true,
    .rule = channels,
};

const struct hc_descriptor *const hc_norm_ops[HC_OP_ROOM] = {
    [HC_OP_bn_train] = &train,
    [HC_OP_bn_infer] = &infer,
    [HC_OP_bn_bwd] = &bwd,
    [HC_OP_bn_leaky_train] = &leaky_train,
    [HC_OP_bn_leaky_infer] = &leaky_infer,
    [HC_OP_bn_leaky_bwd] = &leaky_bwd,
    [HC_OP_bn_moments] = &moments,
    [HC_OP_bn_combine] = &combine,
    [HC_OP_bn_bwd_sums] = &bwd_sums,
    [HC_OP_bn_bwd_apply] = &bwd_apply,
};
