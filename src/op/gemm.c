/* The descriptors of op/gemm.h, and of gemm_q, which states its contract in op/quant.h. */
#include "op/families.h"
#include "op/params.h"
#include "op/rule.h"

static const struct hc_param gemm_params[] = {
    {"transpose_a", HC_PARAM_FLAG, offsetof(union hc_params, gemm.transpose_a), .usual = "false"},
    {"transpose_b", HC_PARAM_FLAG, offsetof(union hc_params, gemm.transpose_b), .usual = "false"},
    {"alpha", HC_PARAM_REAL, offsetof(union hc_params, gemm.alpha), .usual = "1"},
    {"beta", HC_PARAM_REAL, offsetof(union hc_params, gemm.beta), .usual = "0"},
    {"tf32", HC_PARAM_FLAG, offsetof(union hc_params, gemm.tf32), .usual = "false"},
    {"half_accumulator", HC_PARAM_FLAG, offsetof(union hc_params, gemm.half_accumulator),
     .usual = "false"},
    {0},
};

static const struct hc_param gemm_q_params[] = {
    {"a_rows", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.a_rows), .usual = "0",
     .note = "the size of a block of a, 0 for all"},
    {"a_columns", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.a_columns), .usual = "0",
     .note = "the size of a block of a, 0 for all"},
    {"b_rows", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.b_rows), .usual = "0",
     .note = "the size of a block of b, 0 for all"},
    {"b_columns", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.b_columns), .usual = "0",
     .note = "the size of a block of b, 0 for all"},
    {"promote", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.promote), .usual = "0",
     .note = "the longest sum in the unit's own accumulator, 0 for any"},
    {0},
};

static int64_t length(const struct hc_call *call)
{
    return call->in[HC_GEMM_A].shape[call->params.gemm.transpose_a ? 0 : 1];
}

static enum hc_status shapes(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    if (p->half_accumulator && a->format != HC_FP16)
        return hc_fail(HC_INVALID, "gemm: sums in fp16 of inputs that are %s",
                       hc_formats[a->format].name);
    enum hc_status status = hc_rule_rank(call, a, 2);
    if (status == HC_OK)
        status = hc_rule_rank(call, out, 2);
    if (status != HC_OK)
        return status;
    int64_t m = a->shape[p->transpose_a ? 1 : 0];
    int64_t k = length(call);
    int64_t n = out->shape[1];
    status = hc_rule_shape(call, out, 2, (int64_t[]){m, n});
    if (status == HC_OK)
        status = hc_rule_shape(call, &call->in[HC_GEMM_B], 2,
                               p->transpose_b ? (int64_t[]){n, k} : (int64_t[]){k, n});
    if (status != HC_OK || p->beta == 0)
        return status;
    return c->rank == 1 ? hc_rule_shape(call, c, 1, (int64_t[]){n})
                        : hc_rule_shape(call, c, 2, (int64_t[]){m, n});
}

/* Which of a and b is an activation, a gradient or a weight depends on what is computed: the
   forward pass, the gradient of the input, or that of the weights. */
static const struct hc_descriptor gemm = {
    .params = gemm_params,
    .in = {[HC_GEMM_A] = {"a", HC_ALLOW_FLOAT_OR_FP8, HC_SIZE_RULE, .shape = "[M, K]",
                          .note = "[K, M] with transpose_a", .values = HC_VALUES_DATA,
                          .pass = HC_PASS_EITHER},
           [HC_GEMM_B] = {"b", HC_ALLOW_LIKE_OR_FP8, HC_SIZE_RULE, .shape = "[K, N]",
                          .note = "[N, K] with transpose_b", .values = HC_VALUES_FACTOR,
                          .pass = HC_PASS_EITHER},
           [HC_GEMM_C] = {"c", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[M, N] or [N]",
                          .note = "optional if beta is 0", .optional = true,
                          .values = HC_VALUES_OFFSET}},
    .out = {[HC_GEMM_OUT] = {"out", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[M, N]"}},
    .fp64 = true,
    .cancels = true,
    .rule = shapes,
    .length = length,
};

static int64_t codes_length(const struct hc_call *call)
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

static enum hc_status codes_shapes(const struct hc_call *call)
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

static const struct hc_descriptor gemm_q = {
    .params = gemm_q_params,
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
    .rule = codes_shapes,
    .length = codes_length,
};

const struct hc_descriptor *const hc_gemm_ops[HC_OP_ROOM] = {
    [HC_OP_gemm] = &gemm, [HC_OP_gemm_q] = &gemm_q};
