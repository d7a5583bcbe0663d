/* The descriptors of op/loss.h. */
#include "op/families.h"
#include "op/params.h"
#include "op/rule.h"

static const struct hc_param xent_params[] = {
    {"sum", HC_PARAM_FLAG, offsetof(union hc_params, xent.sum), .usual = "false"},
    {0},
};

static enum hc_status shapes(const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    enum hc_status status = hc_rule_rank(call, z, 2);
    if (status != HC_OK)
        return status;
    if (z->shape[1] < 1 || (z->shape[0] < 1 && call->op == HC_OP_xent))
        return hc_fail(HC_INVALID, "%s: no logits", hc_ops[call->op].name);
    return hc_rule_shape(call, &call->in[HC_XENT_LABELS], 1, (int64_t[]){z->shape[0]});
}

/* The mean over the rows is one more sum over the sums of each row. */
static int64_t all_logits(const struct hc_call *call)
{
    return call->in[HC_XENT_LOGITS].shape[0] * call->in[HC_XENT_LOGITS].shape[1];
}

static int64_t classes(const struct hc_call *call)
{
    return call->in[HC_XENT_LOGITS].shape[1];
}

static const struct hc_descriptor xent = {
    .params = xent_params,
    .in = {[HC_XENT_LOGITS] = {"logits", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[N, C]",
                               .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION},
           [HC_XENT_LABELS] = {"labels", HC_ALLOW_I32, HC_SIZE_RULE, .shape = "[N]",
                               .values = HC_VALUES_LABELS}},
    .out = {[HC_XENT_LOSS] = {"loss", HC_ALLOW_WIDE, HC_SIZE_FIXED, 1},
            [HC_XENT_CORRECT] = {"correct", HC_ALLOW_WIDE, HC_SIZE_FIXED, 1, .optional = true}},
    .fp64 = true,
    .cancels = true,
    .rule = shapes,
    .length = all_logits,
};

static const struct hc_descriptor xent_bwd = {
    .params = xent_params,
    .in = {[HC_XENT_LOGITS] = {"logits", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[N, C]",
                               .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION},
           [HC_XENT_LABELS] = {"labels", HC_ALLOW_I32, HC_SIZE_RULE, .shape = "[N]",
                               .values = HC_VALUES_LABELS},
           [HC_XENT_UPSTREAM] = {"upstream", HC_ALLOW_WIDE, HC_SIZE_FIXED, 1,
                                 .values = HC_VALUES_SCALAR}},
    .out = {[HC_XENT_DLOGITS] = {"dlogits", HC_ALLOW_FLOAT}},
    .fp64 = true,
    .cancels = true,
    .rule = shapes,
    .length = classes,
};

const struct hc_descriptor *const hc_loss_ops[HC_OP_ROOM] = {
    [HC_OP_xent] = &xent,
    [HC_OP_xent_bwd] = &xent_bwd,
};
