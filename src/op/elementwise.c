/* The descriptors of op/elementwise.h. */
#include "op/families.h"
#include "op/params.h"

static const struct hc_param cast_params[] = {
    {"direction", HC_PARAM_WORD, offsetof(union hc_params, cast.direction), .usual = "nearest",
     .words = hc_direction_names, .word_count = HC_DIRECTION_COUNT},
    {"saturate", HC_PARAM_FLAG, offsetof(union hc_params, cast.saturate), .usual = "false"},
    {0},
};

static const struct hc_param axpy_params[] = {
    {"alpha", HC_PARAM_REAL, offsetof(union hc_params, axpy.alpha), .usual = "1"},
    {0},
};

static const struct hc_param unscale_params[] = {
    {"reciprocal", HC_PARAM_FLAG, offsetof(union hc_params, unscale.reciprocal), .usual = "false"},
    {0},
};

static const struct hc_param leaky_params[] = {
    {"slope", HC_PARAM_REAL, offsetof(union hc_params, leaky.slope), .usual = "0.01"},
    {0},
};

static enum hc_status cast_rule(const struct hc_call *call)
{
    if ((unsigned)call->params.cast.direction < HC_DIRECTION_COUNT)
        return HC_OK;
    return hc_fail(HC_INVALID, "cast: no direction %d", (int)call->params.cast.direction);
}

static const struct hc_descriptor cast = {
    .params = cast_params,
    .in = {[HC_X] = {"x", HC_ALLOW_ANY, .values = HC_VALUES_DATA, .pass = HC_PASS_EITHER}},
    .out = {[HC_OUT] = {"out", HC_ALLOW_ANY, .in_place = true}},
    .rule = cast_rule,
};

/* In a network, additions join two paths forward, and the gradients of two backward. */
static const struct hc_descriptor sum = {
    .in = {[HC_X] = {"x", HC_ALLOW_FLOAT_OR_FP64, .values = HC_VALUES_DATA, .pass = HC_PASS_EITHER},
           [HC_Y] = {"y", HC_ALLOW_LIKE, .values = HC_VALUES_DATA, .pass = HC_PASS_EITHER}},
    .out = {[HC_OUT] = {"out", HC_ALLOW_LIKE, .in_place = true}},
    .cancels = true,
};

static const struct hc_descriptor product = {
    .in = {[HC_X] = {"x", HC_ALLOW_FLOAT_OR_FP64, .values = HC_VALUES_DATA},
           [HC_Y] = {"y", HC_ALLOW_LIKE, .values = HC_VALUES_FACTOR}},
    .out = {[HC_OUT] = {"out", HC_ALLOW_LIKE, .in_place = true}},
};

static const struct hc_descriptor root = {
    .in = {[HC_X] = {"x", HC_ALLOW_FLOAT_OR_FP64, .values = HC_VALUES_DATA}},
    .out = {[HC_OUT] = {"out", HC_ALLOW_LIKE, .in_place = true}},
};

static const struct hc_descriptor fma_descriptor = {
    .in = {[HC_X] = {"x", HC_ALLOW_FLOAT_OR_FP64, .values = HC_VALUES_DATA},
           [HC_Y] = {"y", HC_ALLOW_LIKE, .values = HC_VALUES_FACTOR},
           [HC_Z] = {"z", HC_ALLOW_LIKE, .values = HC_VALUES_ADDEND}},
    .out = {[HC_OUT] = {"out", HC_ALLOW_LIKE, .in_place = true}},
    .cancels = true,
};

static const struct hc_descriptor axpy = {
    .params = axpy_params,
    .in = {[HC_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_Y] = {"y", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA}},
    .out = {[HC_OUT] = {"out", HC_ALLOW_FLOAT, .in_place = true}},
    .through_fp32 = true,
    .cancels = true,
};

static const struct hc_descriptor scale = {
    .in = {[HC_SCALE_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_SCALE_S] = {"s", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .values = HC_VALUES_SCALAR}},
    .out = {[HC_SCALE_OUT] = {"out", HC_ALLOW_FLOAT, .in_place = true}},
    .through_fp32 = true,
};

static enum hc_status unscale_rule(const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_UNSCALE_OUT];
    if (!call->in[HC_UNSCALE_OVERRIDE].data)
        return HC_OK;
    if (call->in[HC_UNSCALE_FOUND_INF].data == call->out[HC_UNSCALE_NEW_FOUND_INF].data)
        return hc_fail(HC_INVALID,
                       "unscale: with an override, found_inf and new_found_inf are apart");
    if (out->format == HC_FP32)
        return HC_OK;
    return hc_fail(HC_INVALID, "unscale: out is %s, not fp32 as override is",
                   hc_formats[out->format].name);
}

static const struct hc_descriptor unscale = {
    .params = unscale_params,
    .in = {[HC_UNSCALE_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_UNSCALE_SCALE] = {"scale", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                 .values = HC_VALUES_SCALAR},
           [HC_UNSCALE_FOUND_INF] = {"found_inf", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                     .values = HC_VALUES_FLAG},
           [HC_UNSCALE_OVERRIDE] = {"override", HC_ALLOW_FP32, .optional = true,
                                    .values = HC_VALUES_DATA}},
    .out = {[HC_UNSCALE_OUT] = {"out", HC_ALLOW_FLOAT, .note = "fp32 with an override",
                                .in_place = true},
            [HC_UNSCALE_NEW_FOUND_INF] = {"new_found_inf", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                          .note = "with an override apart from found_inf",
                                          .like = HC_UNSCALE_FOUND_INF, .in_place = true}},
    .through_fp32 = true,
    .rule = unscale_rule,
};

static const struct hc_descriptor leaky_relu = {
    .params = leaky_params,
    .in = {[HC_LEAKY_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA,
                           .pass = HC_PASS_ACTIVATION}},
    .out = {[HC_LEAKY_Y] = {"y", HC_ALLOW_FLOAT, .in_place = true}},
    .fp64 = true,
    .through_fp32 = true,
};

static const struct hc_descriptor leaky_relu_bwd = {
    .params = leaky_params,
    .in = {[HC_LEAKY_BWD_Y] = {"y", HC_ALLOW_FLOAT, .values = HC_VALUES_FACTOR},
           [HC_LEAKY_BWD_DY] = {"dy", HC_ALLOW_LIKE, .values = HC_VALUES_DATA,
                                .pass = HC_PASS_GRADIENT}},
    .out = {[HC_LEAKY_BWD_DX] = {"dx", HC_ALLOW_LIKE, .in_place = true}},
    .fp64 = true,
    .through_fp32 = true,
};

static const struct hc_descriptor master_to_model = {
    .in = {[HC_MODEL_MASTER] = {"master", HC_ALLOW_FP32, .values = HC_VALUES_DATA}},
    .out = {[HC_MODEL_COPY] = {"copy", HC_ALLOW_FLOAT, .in_place = true}},
};

const struct hc_descriptor *const hc_elementwise_ops[HC_OP_ROOM] = {
    [HC_OP_cast] = &cast,
    [HC_OP_add] = &sum,
    [HC_OP_sub] = &sum,
    [HC_OP_mul] = &product,
    [HC_OP_div] = &product,
    [HC_OP_sqrt] = &root,
    [HC_OP_fma] = &fma_descriptor,
    [HC_OP_axpy] = &axpy,
    [HC_OP_scale] = &scale,
    [HC_OP_unscale] = &unscale,
    [HC_OP_leaky_relu] = &leaky_relu,
    [HC_OP_leaky_relu_bwd] = &leaky_relu_bwd,
    [HC_OP_master_to_model] = &master_to_model,
};
