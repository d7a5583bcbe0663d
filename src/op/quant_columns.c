/* The descriptors of im2col and col2im (op/quant.h). */
#include "op/families.h"
#include "op/rule.h"

static enum hc_status columns_shapes(const struct hc_call *call)
{
    bool back = call->op == HC_OP_col2im;
    const struct hc_tensor *x = back ? &call->out[HC_COL2IM_DX] : &call->in[HC_IM2COL_X];
    const struct hc_tensor *columns =
        back ? &call->in[HC_COL2IM_COLUMNS] : &call->out[HC_IM2COL_COLUMNS];
    const struct hc_columns *p = &call->params.columns;
    int64_t kernel = p->kernel;
    enum hc_status status = hc_rule_rank(call, x, 4);
    if (status != HC_OK)
        return status;
    if (kernel < 1 || p->stride < 1 || p->pad < 0)
        return hc_fail(HC_INVALID, "%s: kernel %d, stride %d, pad %d", hc_ops[call->op].name,
                       p->kernel, p->stride, p->pad);
    int64_t rows = x->shape[1] + 2 * (int64_t)p->pad - kernel;
    int64_t across = x->shape[2] + 2 * (int64_t)p->pad - kernel;
    if (rows < 0 || across < 0)
        return hc_fail(HC_INVALID, "%s: the filter does not fit into the padded image",
                       hc_ops[call->op].name);
    int64_t pixels = x->shape[0] * (rows / p->stride + 1) * (across / p->stride + 1);
    return hc_rule_shape(call, columns, 2, (int64_t[]){pixels, kernel * kernel * x->shape[3]});
}

const struct hc_descriptor hc_descriptor_im2col = {
    .in = {[HC_IM2COL_X] = {"x", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[N, H, W, C]",
                            .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION}},
    .out = {[HC_IM2COL_COLUMNS] = {"columns", HC_ALLOW_LIKE, HC_SIZE_RULE,
                                   .shape = "[N P Q, kernel kernel C]"}},
    .rule = columns_shapes,
};

const struct hc_descriptor hc_descriptor_col2im = {
    .in = {[HC_COL2IM_COLUMNS] = {"columns", HC_ALLOW_FLOAT, HC_SIZE_RULE,
                                  .shape = "[N P Q, kernel kernel C]", .values = HC_VALUES_DATA,
                                  .pass = HC_PASS_GRADIENT}},
    .out = {[HC_COL2IM_DX] = {"dx", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[N, H, W, C]"}},
    .rule = columns_shapes,
};
