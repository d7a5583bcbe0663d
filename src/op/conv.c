/* The descriptors of op/conv.h. */
#include "op/families.h"
#include "op/params.h"
#include "op/rule.h"

static const struct hc_param conv_params[] = {
    {"stride", HC_PARAM_INTEGER, offsetof(union hc_params, conv.stride), .usual = "1"},
    {"pad", HC_PARAM_INTEGER, offsetof(union hc_params, conv.pad), .usual = "0"},
    {"tf32", HC_PARAM_FLAG, offsetof(union hc_params, conv.tf32), .usual = "false"},
    {0},
};

static const struct hc_param pool_params[] = {
    {"window", HC_PARAM_INTEGER, offsetof(union hc_params, pool.window), .usual = "2"},
    {0},
};

#define HC_SHAPE_X "[N, H, W, C]"
#define HC_SHAPE_W "[K, R, S, C]"
#define HC_SHAPE_Y "[N, P, Q, K]"

/* x, w and y of a convolution, by their roles; in the backward ops the gradients of the same
   shape. */
struct roles {
    const struct hc_tensor *x, *w, *y;
};

static struct roles roles_of(const struct hc_call *call)
{
    switch (call->op) {
    case HC_OP_conv2d:
        return (struct roles){&call->in[HC_CONV_X], &call->in[HC_CONV_W], &call->out[HC_CONV_Y]};
    case HC_OP_conv2d_bwd_data:
        return (struct roles){&call->out[HC_CONV_BWD_DATA_DX], &call->in[HC_CONV_BWD_DATA_W],
                              &call->in[HC_CONV_BWD_DATA_DY]};
    default:
        return (struct roles){&call->in[HC_CONV_BWD_FILTER_X], &call->out[HC_CONV_BWD_FILTER_DW],
                              &call->in[HC_CONV_BWD_FILTER_DY]};
    }
}

static enum hc_status conv_shapes(const struct hc_call *call)
{
    struct roles t = roles_of(call);
    int64_t stride = call->params.conv.stride;
    int64_t pad = call->params.conv.pad;
    enum hc_status status = hc_rule_rank(call, &call->in[HC_CONV_FIRST], 4);
    if (status == HC_OK)
        status = hc_rule_rank(call, &call->in[HC_CONV_SECOND], 4);
    if (status == HC_OK)
        status = hc_rule_rank(call, &call->out[HC_CONV_RESULT], 4);
    if (status != HC_OK)
        return status;
    if (stride < 1 || pad < 0)
        return hc_fail(HC_INVALID, "%s: stride %lld, pad %lld", hc_ops[call->op].name,
                       (long long)stride, (long long)pad);
    if (t.w->shape[1] < 1 || t.w->shape[2] < 1 || t.x->shape[1] + 2 * pad < t.w->shape[1] ||
        t.x->shape[2] + 2 * pad < t.w->shape[2])
        return hc_fail(HC_INVALID, "%s: the filter does not fit into the padded image",
                       hc_ops[call->op].name);
    status = hc_rule_shape(call, t.w, 4, (int64_t[]){-1, -1, -1, t.x->shape[3]});
    if (status != HC_OK)
        return status;
    int64_t p = (t.x->shape[1] + 2 * pad - t.w->shape[1]) / stride + 1;
    int64_t q = (t.x->shape[2] + 2 * pad - t.w->shape[2]) / stride + 1;
    return hc_rule_shape(call, t.y, 4, (int64_t[]){t.x->shape[0], p, q, t.w->shape[0]});
}

/* Terms: R S C of an output, and at most K R S of a gradient of the input; N P Q of a gradient of
   the filter. */
static int64_t conv_length(const struct hc_call *call)
{
    struct roles t = roles_of(call);
    if (call->op == HC_OP_conv2d_bwd_filter)
        return t.y->shape[0] * t.y->shape[1] * t.y->shape[2];
    int64_t taps = t.w->shape[1] * t.w->shape[2];
    return taps * t.w->shape[call->op == HC_OP_conv2d ? 3 : 0];
}

static const struct hc_descriptor conv2d = {
    .params = conv_params,
    .in = {[HC_CONV_X] = {"x", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_X,
                          .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION},
           [HC_CONV_W] = {"w", HC_ALLOW_LIKE, HC_SIZE_RULE, .shape = HC_SHAPE_W,
                          .values = HC_VALUES_FACTOR}},
    .out = {[HC_CONV_Y] = {"y", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_Y}},
    .fp64 = true,
    .cancels = true,
    .rule = conv_shapes,
    .length = conv_length,
};

static const struct hc_descriptor conv2d_bwd_data = {
    .params = conv_params,
    .in = {[HC_CONV_BWD_DATA_DY] = {"dy", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_Y,
                                    .values = HC_VALUES_DATA, .pass = HC_PASS_GRADIENT},
           [HC_CONV_BWD_DATA_W] = {"w", HC_ALLOW_LIKE, HC_SIZE_RULE, .shape = HC_SHAPE_W,
                                   .values = HC_VALUES_FACTOR}},
    .out = {[HC_CONV_BWD_DATA_DX] = {"dx", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_X}},
    .fp64 = true,
    .cancels = true,
    .rule = conv_shapes,
    .length = conv_length,
};

static const struct hc_descriptor conv2d_bwd_filter = {
    .params = conv_params,
    .in = {[HC_CONV_BWD_FILTER_X] = {"x", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_X,
                                     .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION},
           [HC_CONV_BWD_FILTER_DY] = {"dy", HC_ALLOW_LIKE, HC_SIZE_RULE, .shape = HC_SHAPE_Y,
                                      .values = HC_VALUES_FACTOR, .pass = HC_PASS_GRADIENT}},
    .out = {[HC_CONV_BWD_FILTER_DW] = {"dw", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_W}},
    .fp64 = true,
    .cancels = true,
    .rule = conv_shapes,
    .length = conv_length,
};

static enum hc_status pool_shapes(const struct hc_call *call)
{
    bool backward = call->op == HC_OP_avg_pool_bwd;
    const struct hc_tensor *x = backward ? &call->out[HC_POOL_BWD_DX] : &call->in[HC_POOL_X];
    const struct hc_tensor *y = backward ? &call->in[HC_POOL_BWD_DY] : &call->out[HC_POOL_Y];
    int64_t window = call->params.pool.window;
    enum hc_status status = hc_rule_rank(call, x, 4);
    if (status != HC_OK)
        return status;
    if (window < 1 || x->shape[1] % window != 0 || x->shape[2] % window != 0)
        return hc_fail(HC_INVALID, "%s: extents %lld x %lld are no multiples of the window %lld",
                       hc_ops[call->op].name, (long long)x->shape[1], (long long)x->shape[2],
                       (long long)window);
    return hc_rule_shape(
        call, y, 4,
        (int64_t[]){x->shape[0], x->shape[1] / window, x->shape[2] / window, x->shape[3]});
}

static int64_t pool_length(const struct hc_call *call)
{
    return (int64_t)call->params.pool.window * call->params.pool.window;
}

static const struct hc_descriptor avg_pool = {
    .params = pool_params,
    .in = {[HC_POOL_X] = {"x", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_X,
                          .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION}},
    .out = {[HC_POOL_Y] = {"y", HC_ALLOW_FLOAT, HC_SIZE_RULE,
                           .shape = "[N, H / window, W / window, C]"}},
    .fp64 = true,
    .cancels = true,
    .rule = pool_shapes,
    .length = pool_length,
};

static const struct hc_descriptor avg_pool_bwd = {
    .params = pool_params,
    .in = {[HC_POOL_BWD_DY] = {"dy", HC_ALLOW_FLOAT, HC_SIZE_RULE,
                               .shape = "[N, H / window, W / window, C]", .values = HC_VALUES_DATA,
                               .pass = HC_PASS_GRADIENT}},
    .out = {[HC_POOL_BWD_DX] = {"dx", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = HC_SHAPE_X}},
    .fp64 = true,
    .through_fp32 = true,
    .rule = pool_shapes,
};

const struct hc_descriptor *const hc_conv_ops[HC_OP_ROOM] = {
    [HC_OP_conv2d] = &conv2d,
    [HC_OP_conv2d_bwd_data] = &conv2d_bwd_data,
    [HC_OP_conv2d_bwd_filter] = &conv2d_bwd_filter,
    [HC_OP_avg_pool] = &avg_pool,
    [HC_OP_avg_pool_bwd] = &avg_pool_bwd,
};
