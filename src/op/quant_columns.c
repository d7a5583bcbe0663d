/* The descriptors of im2col and col2im (op/quant.h). */
#include "op/families.h"
#include "op/rule.h"

/* Whether int64_t holds the product of the factors, each counted as 1 if it is 0: so it holds the
   product of any of them, too. */
static bool product_fits(const int64_t *factor, int count)
{
    int64_t room = INT64_MAX;
    for (int i = 0; i < count; i++)
        room /= factor[i] > 0 ? factor[i] : 1;
    return room > 0;
}

static enum hc_status too_many(const struct hc_call *call)
{
    const struct hc_columns *p = &call->params.columns;
    return hc_fail(HC_INVALID, "%s: kernel %d, stride %d, pad %d make too many columns",
                   hc_ops[call->op].name, p->kernel, p->stride, p->pad);
}

/* The shape of the columns of an image, of whose elements the number fits into int64_t. */
static enum hc_status columns_of(const struct hc_call *call, const struct hc_tensor *x,
                                 int64_t shape[2])
{
    const struct hc_columns *p = &call->params.columns;
    int64_t kernel = p->kernel;
    int64_t padded = 2 * (int64_t)p->pad;
    if (kernel < 1 || p->stride < 1 || p->pad < 0)
        return hc_fail(HC_INVALID, "%s: kernel %d, stride %d, pad %d", hc_ops[call->op].name,
                       p->kernel, p->stride, p->pad);
    if (x->shape[1] > INT64_MAX - padded || x->shape[2] > INT64_MAX - padded)
        return too_many(call);
    int64_t rows = x->shape[1] + padded - kernel;
    int64_t across = x->shape[2] + padded - kernel;
    if (rows < 0 || across < 0)
        return hc_fail(HC_INVALID, "%s: the filter does not fit into the padded image",
                       hc_ops[call->op].name);
    int64_t factor[] = {x->shape[0], rows / p->stride + 1, across / p->stride + 1, kernel,
                        kernel,      x->shape[3]};
    if (!product_fits(factor, 6))
        return too_many(call);
    shape[0] = factor[0] * factor[1] * factor[2];
    shape[1] = factor[3] * factor[4] * factor[5];
    return HC_OK;
}

static enum hc_status columns_shapes(const struct hc_call *call)
{
    bool back = call->op == HC_OP_col2im;
    const struct hc_tensor *x = back ? &call->out[HC_COL2IM_DX] : &call->in[HC_IM2COL_X];
    const struct hc_tensor *columns =
        back ? &call->in[HC_COL2IM_COLUMNS] : &call->out[HC_IM2COL_COLUMNS];
    int64_t shape[2];
    enum hc_status status = hc_rule_rank(call, x, 4);
    if (status == HC_OK)
        status = columns_of(call, x, shape);
    return status == HC_OK ? hc_rule_shape(call, columns, 2, shape) : status;
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
