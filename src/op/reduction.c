/* The descriptors of op/reduction.h. */
#include "op/families.h"
#include "op/params.h"

static const struct hc_param reduce_params[] = {
    {"accumulator", HC_PARAM_FORMAT, offsetof(union hc_params, reduce.accumulator),
     .usual = "fp32"},
    {0},
};

static enum hc_status accumulator(const struct hc_call *call)
{
    enum hc_format f = call->params.reduce.accumulator;
    bool squares = call->op == HC_OP_sum_squares;
    if (f == HC_FP32 || (f == call->in[HC_REDUCE_X].format && !squares))
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: the accumulator is %s", hc_ops[call->op].name,
                   squares ? "not fp32" : "neither fp32 nor the inputs' format");
}

static int64_t length(const struct hc_call *call)
{
    return hc_tensor_count(&call->in[HC_REDUCE_X]);
}

static const struct hc_descriptor sum = {
    .params = reduce_params,
    .in = {[HC_REDUCE_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA}},
    .out = {[HC_REDUCE_OUT] = {"out", HC_ALLOW_FLOAT, HC_SIZE_FIXED, 1}},
    .ordered = true,
    .cancels = true,
    .rule = accumulator,
    .length = length,
};

static const struct hc_descriptor dot = {
    .params = reduce_params,
    .in = {[HC_REDUCE_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_DOT_Y] = {"y", HC_ALLOW_LIKE, .values = HC_VALUES_FACTOR}},
    .out = {[HC_REDUCE_OUT] = {"out", HC_ALLOW_FLOAT, HC_SIZE_FIXED, 1}},
    .ordered = true,
    .cancels = true,
    .rule = accumulator,
    .length = length,
};

static const struct hc_descriptor sum_squares = {
    .params = reduce_params,
    .in = {[HC_REDUCE_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_SUM_SQUARES_PARTIAL] = {"partial", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                       .values = HC_VALUES_SCALAR}},
    .out = {[HC_REDUCE_OUT] = {"out", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                               .like = HC_SUM_SQUARES_PARTIAL, .in_place = true}},
    .rule = accumulator,
    .length = length,
};

const struct hc_descriptor *const hc_reduction_ops[HC_OP_ROOM] = {
    [HC_OP_sum] = &sum,
    [HC_OP_dot] = &dot,
    [HC_OP_sum_squares] = &sum_squares,
};
