/* The descriptor of gemm_q (op/quant.h). */
#include "op/families.h"
#include "op/rule.h"

static int64_t length(const struct hc_call *call)
{
    return call->in[HC_GEMM_Q_A].shape[1];
}

static enum hc_status sizes(const struct hc_gemm_q *p)
{
    const int64_t all[] = {p->a_rows, p->a_columns, p->b_rows, p->b_columns, p->promote};
    for (int i = 0; i < 5; i++)
        if (all[i] < 0)
            return hc_fail(HC_INVALID, "gemm_q: a block or a piece of %lld", (long long)all[i]);
    return HC_OK;
}

/* One scale a block of the matrix. */
static enum hc_status scales(const struct hc_call *call, const struct hc_tensor *codes,
                             const struct hc_tensor *t, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {hc_quant_blocks(codes->shape[0], rows),
                             hc_quant_blocks(codes->shape[1], columns)};
    return hc_rule_shape(call, t, 2, shape);
}

static enum hc_status shapes(const struct hc_call *call)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    const struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    enum hc_status status = sizes(p);
    if (status == HC_OK)
        status = hc_rule_rank(call, a, 2);
    if (status == HC_OK)
        status = hc_rule_shape(call, b, 2, (int64_t[]){-1, a->shape[1]});
    if (status != HC_OK)
        return status;
    int64_t shape[] = {a->shape[0], b->shape[0]};
    status = hc_rule_shape(call, &call->out[HC_GEMM_Q_OUT], 2, shape);
    if (status == HC_OK && c->data)
        status = hc_rule_shape(call, c, 2, shape);
    if (status == HC_OK)
        status = scales(call, a, &call->in[HC_GEMM_Q_A_SCALES], p->a_rows, p->a_columns);
    if (status == HC_OK)
        status = scales(call, b, &call->in[HC_GEMM_Q_B_SCALES], p->b_rows, p->b_columns);
    return status;
}

const struct hc_descriptor hc_gemm_q_op = {
    .in = {[HC_GEMM_Q_A] = {"a", HC_ALLOW_CODES, HC_SIZE_RULE, .shape = "[M, K]",
                            .values = HC_VALUES_DATA, .pass = HC_PASS_EITHER},
           [HC_GEMM_Q_B] = {"b", HC_ALLOW_LIKE_CODES, HC_SIZE_RULE, .shape = "[N, K]",
                            .values = HC_VALUES_FACTOR, .pass = HC_PASS_EITHER},
           [HC_GEMM_Q_C] = {"c", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[M, N]", .optional = true,
                            .values = HC_VALUES_OFFSET},
           [HC_GEMM_Q_A_SCALES] = {"a_scales", HC_ALLOW_SCALES, HC_SIZE_RULE,
                                   .shape = "[M / a_rows, K / a_columns]",
                                   .note = "rounded up; one where a size is 0",
                                   .values = HC_VALUES_SCALE},
           [HC_GEMM_Q_A_TENSOR] = {"a_tensor", HC_ALLOW_FP32, HC_SIZE_FIXED, .count = 1,
                                   .optional = true, .values = HC_VALUES_SCALE},
           [HC_GEMM_Q_B_SCALES] = {"b_scales", HC_ALLOW_SCALES, HC_SIZE_RULE,
                                   .shape = "[N / b_rows, K / b_columns]",
                                   .note = "rounded up; one where a size is 0",
                                   .values = HC_VALUES_SCALE},
           [HC_GEMM_Q_B_TENSOR] = {"b_tensor", HC_ALLOW_FP32, HC_SIZE_FIXED, .count = 1,
                                   .optional = true, .values = HC_VALUES_SCALE}},
    .out = {[HC_GEMM_Q_OUT] = {"out", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[M, N]"}},
    .cancels = true,
    .rule = shapes,
    .length = length,
};
