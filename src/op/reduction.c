/* The descriptors of op/reduction.h, and of op/collective.h. */
#include <math.h>

#include "op/families.h"
#include "op/params.h"
#include "op/collective.h"
#include "op/rule.h"

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

static const struct hc_param all_reduce_params[] = {
    {"algorithm", HC_PARAM_WORD, offsetof(union hc_params, all_reduce.algorithm), .usual = "tree",
     .words = hc_collective_names, .word_count = HC_COLLECTIVE_LIBRARY},
    {"sum", HC_PARAM_FORMAT, offsetof(union hc_params, all_reduce.sum), .usual = "fp32"},
    {"before", HC_PARAM_REAL, offsetof(union hc_params, all_reduce.before), .usual = "1"},
    {"after", HC_PARAM_REAL, offsetof(union hc_params, all_reduce.after), .usual = "1"},
    {"multiplies", HC_PARAM_FLAG, offsetof(union hc_params, all_reduce.multiplies),
     .usual = "false"},
    {0},
};

const char *const hc_collective_names[HC_COLLECTIVE_COUNT + 1] = {"tree", "ring", "halving",
                                                                  "library", NULL};

/* Whether fp32 can divide by it, and multiply by its reciprocal where that is asked for. */
static bool divides(double divisor, bool multiplies)
{
    float d = (float)divisor;
    return d > 0 && isfinite(d) && (!multiplies || isfinite(1 / d));
}

static enum hc_status numbers_rule(const struct hc_call *call)
{
    const struct hc_all_reduce *p = &call->params.all_reduce;
    enum hc_format f = p->sum;
    if ((unsigned)p->algorithm >= HC_COLLECTIVE_LIBRARY)
        return hc_fail(HC_INVALID, "all_reduce: no algorithm of a stated order has the number %d",
                       (int)p->algorithm);
    if (hc_call_fp64(call) ? f != HC_FP64 : f != HC_FP32 && f != HC_BF16 && f != HC_FP16)
        return hc_fail(HC_INVALID, "all_reduce: sum is not %s",
                       hc_call_fp64(call) ? "fp64, as the first input" : "fp32, bf16 or fp16");
    if (!divides(p->before, p->multiplies) || !divides(p->after, p->multiplies))
        return hc_fail(HC_INVALID, "all_reduce: nothing can be divided by %g in fp32",
                       divides(p->before, p->multiplies) ? p->after : p->before);
    return HC_OK;
}

static enum hc_status all_reduce_rule(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    enum hc_status status = hc_rule_rank(call, x, 2);
    if (status != HC_OK)
        return status;
    if (x->shape[0] < 1 || x->shape[0] > HC_MAX_RANKS)
        return hc_fail(HC_INVALID, "all_reduce: %lld ranks, not 1 to %d", (long long)x->shape[0],
                       HC_MAX_RANKS);
    status = hc_rule_shape(call, &call->out[HC_ALL_REDUCE_OUT], 1, &x->shape[1]);
    return status == HC_OK ? numbers_rule(call) : status;
}

static int64_t ranks(const struct hc_call *call)
{
    return call->in[HC_ALL_REDUCE_X].shape[0];
}

static const struct hc_descriptor all_reduce = {
    .params = all_reduce_params,
    .in = {[HC_ALL_REDUCE_X] = {"x", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[R, n]",
                                .values = HC_VALUES_DATA, .pass = HC_PASS_GRADIENT}},
    .out = {[HC_ALL_REDUCE_OUT] = {"out", HC_ALLOW_LIKE, HC_SIZE_RULE, .shape = "[n]"}},
    .fp64 = true,
    .cancels = true,
    .rule = all_reduce_rule,
    .length = ranks,
};

const struct hc_descriptor *const hc_collective_ops[HC_OP_ROOM] = {
    [HC_OP_all_reduce] = &all_reduce,
};
