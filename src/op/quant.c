/* The descriptors of op/quant.h, but for gemm_q's (gemm.c), and the names of its scale rules. */
#include <stddef.h>
#include <string.h>

#include "op/quant.h"
#include "op/families.h"
#include "op/params.h"
#include "op/rule.h"
#include "op/scale_rule.h"

static const struct hc_param columns_params[] = {
    {"kernel", HC_PARAM_INTEGER, offsetof(union hc_params, columns.kernel), .usual = "3"},
    {"stride", HC_PARAM_INTEGER, offsetof(union hc_params, columns.stride), .usual = "1"},
    {"pad", HC_PARAM_INTEGER, offsetof(union hc_params, columns.pad), .usual = "1"},
    {0},
};

static const struct hc_param quantize_params[] = {
    {"rule", HC_PARAM_WORD, offsetof(union hc_params, quantize.rule), .usual = "te-current",
     .words = hc_scale_rule_names, .word_count = HC_SCALE_RULE_COUNT},
    {"rows", HC_PARAM_LONG, offsetof(union hc_params, quantize.rows), .usual = "0",
     .note = "the rows of a block, 0 for all"},
    {"columns", HC_PARAM_LONG, offsetof(union hc_params, quantize.columns), .usual = "0",
     .note = "the columns of a block, 0 for all"},
    {"transpose", HC_PARAM_FLAG, offsetof(union hc_params, quantize.transpose), .usual = "false",
     .note = "the codes are those of x's transpose"},
    {"hadamard", HC_PARAM_FLAG, offsetof(union hc_params, quantize.hadamard), .usual = "false",
     .note = "rows go through the signed 16x16 matrix first"},
    {"random_bits", HC_PARAM_INTEGER, offsetof(union hc_params, quantize.random_bits), .usual = "0",
     .note = "k of stochastic rounding, 0 for rounding to nearest"},
    {"seed", HC_PARAM_SEED, offsetof(union hc_params, quantize.seed), .usual = "0"},
    {"step", HC_PARAM_LONG, offsetof(union hc_params, quantize.step), .usual = "0"},
    {0},
};

static const struct hc_param dequantize_params[] = {
    {"rows", HC_PARAM_LONG, offsetof(union hc_params, dequantize.rows), .usual = "0",
     .note = "the rows of a block, 0 for all"},
    {"columns", HC_PARAM_LONG, offsetof(union hc_params, dequantize.columns), .usual = "0",
     .note = "the columns of a block, 0 for all"},
    {0},
};

static const struct hc_param delayed_scale_params[] = {
    {"rule", HC_PARAM_WORD, offsetof(union hc_params, delayed_scale.rule), .usual = "te-delayed",
     .words = hc_delayed_rule_names, .word_count = HC_DELAYED_RULE_COUNT},
    {"codes", HC_PARAM_FORMAT, offsetof(union hc_params, delayed_scale.codes), .usual = "e4m3",
     .note = "whose largest number the scale leads to"},
    {"margin", HC_PARAM_INTEGER, offsetof(union hc_params, delayed_scale.margin), .usual = "0",
     .note = "scales are 2^-margin times as large"},
    {"most_recent", HC_PARAM_FLAG, offsetof(union hc_params, delayed_scale.most_recent),
     .usual = "false", .note = "the last amax, not the largest of the history"},
    {0},
};

static const struct hc_param stochastic_cast_params[] = {
    {"bits", HC_PARAM_INTEGER, offsetof(union hc_params, stochastic_cast.bits), .usual = "8",
     .note = "k, 1 to 24"},
    {"saturate", HC_PARAM_FLAG, offsetof(union hc_params, stochastic_cast.saturate),
     .usual = "false"},
    {0},
};

static enum hc_status stochastic_rule(const struct hc_call *call)
{
    int bits = call->params.stochastic_cast.bits;
    if (bits >= 1 && bits <= HC_STOCHASTIC_MAX_BITS)
        return HC_OK;
    return hc_fail(HC_INVALID, "stochastic_cast: %d random bits, not 1 to %d", bits,
                   HC_STOCHASTIC_MAX_BITS);
}

static const struct hc_descriptor stochastic_cast = {
    .params = stochastic_cast_params,
    .in = {[HC_STOCHASTIC_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA,
                                .pass = HC_PASS_EITHER},
           [HC_STOCHASTIC_WORDS] = {"words", HC_ALLOW_I32, .values = HC_VALUES_COUNTS}},
    .out = {[HC_STOCHASTIC_OUT] = {"out", HC_ALLOW_NARROW}},
    .rule = stochastic_rule,
};

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

static const struct hc_descriptor im2col = {
    .params = columns_params,
    .in = {[HC_IM2COL_X] = {"x", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[N, H, W, C]",
                            .values = HC_VALUES_DATA, .pass = HC_PASS_ACTIVATION}},
    .out = {[HC_IM2COL_COLUMNS] = {"columns", HC_ALLOW_LIKE, HC_SIZE_RULE,
                                   .shape = "[N P Q, kernel kernel C]"}},
    .rule = columns_shapes,
};

static const struct hc_descriptor col2im = {
    .params = columns_params,
    .in = {[HC_COL2IM_COLUMNS] = {"columns", HC_ALLOW_FLOAT, HC_SIZE_RULE,
                                  .shape = "[N P Q, kernel kernel C]", .values = HC_VALUES_DATA,
                                  .pass = HC_PASS_GRADIENT}},
    .out = {[HC_COL2IM_DX] = {"dx", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[N, H, W, C]"}},
    .rule = columns_shapes,
};

int64_t hc_quant_blocks(int64_t extent, int64_t size)
{
    int64_t own = hc_quant_block(extent, size);
    return extent == 0 ? 0 : extent / own + (extent % own != 0);
}

/* The scales of codes of this shape, and block sizes that are none. */
static enum hc_status blocks_rule(const struct hc_call *call, const struct hc_tensor *codes,
                                  const struct hc_tensor *scales, int64_t rows, int64_t columns)
{
    if (rows < 0 || columns < 0)
        return hc_fail(HC_INVALID, "%s: no block has %lld rows and %lld columns",
                       hc_ops[call->op].name, (long long)rows, (long long)columns);
    return hc_rule_shape(call, scales, 2,
                         (int64_t[]){hc_quant_blocks(codes->shape[0], rows),
                                     hc_quant_blocks(codes->shape[1], columns)});
}

static enum hc_status quantize_numbers(const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    const char *rule = hc_scale_rule_names[p->rule];
    bool given = p->rule == HC_SCALE_GIVEN;
    if (p->random_bits < 0 || p->random_bits > HC_QUANTIZE_MAX_RANDOM_BITS)
        return hc_fail(HC_INVALID, "quantize: %d random bits, not 0 to %d", p->random_bits,
                       HC_QUANTIZE_MAX_RANDOM_BITS);
    if (p->hadamard && codes->shape[1] % HC_HADAMARD != 0)
        return hc_fail(HC_INVALID, "quantize: rows of %lld have no whole groups of %d to multiply",
                       (long long)codes->shape[1], HC_HADAMARD);
    if (scales->format != hc_scale_format(p->rule))
        return hc_fail(HC_INVALID, "quantize: scales is %s, not %s as %s stores them",
                       hc_formats[scales->format].name, hc_formats[hc_scale_format(p->rule)].name,
                       rule);
    if (hc_scale_rules[p->rule].kind == HC_SCALE_OF_LEVELS && codes->format != HC_E2M1)
        return hc_fail(HC_INVALID, "quantize: codes is %s, not e2m1, which %s is for",
                       hc_formats[codes->format].name, rule);
    if (given != (call->in[HC_QUANTIZE_SCALE].data != NULL))
        return hc_fail(HC_INVALID, "quantize: scale is %s under the rule %s",
                       given ? "absent" : "given", rule);
    return HC_OK;
}

static enum hc_status quantize_rule(const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    enum hc_status status = hc_rule_rank(call, x, 2);
    if (status != HC_OK)
        return status;
    if ((unsigned)p->rule >= HC_SCALE_RULE_COUNT)
        return hc_fail(HC_INVALID, "quantize: no rule has the number %d", (int)p->rule);
    int across = p->transpose ? 1 : 0;
    status = hc_rule_shape(call, codes, 2, (int64_t[]){x->shape[across], x->shape[1 - across]});
    if (status == HC_OK)
        status = blocks_rule(call, codes, &call->out[HC_QUANTIZE_SCALES], p->rows, p->columns);
    return status == HC_OK ? quantize_numbers(call) : status;
}

static const struct hc_descriptor quantize = {
    .params = quantize_params,
    .in = {[HC_QUANTIZE_X] = {"x", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[M, K]",
                              .values = HC_VALUES_DATA, .pass = HC_PASS_EITHER},
           [HC_QUANTIZE_SCALE] = {"scale", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                  .note = "of the rule 'given' alone", .optional = true,
                                  .values = HC_VALUES_SCALAR}},
    .out = {[HC_QUANTIZE_CODES] = {"codes", HC_ALLOW_CODES, HC_SIZE_RULE, .shape = "[M, K]",
                                   .note = "[K, M] with transpose"},
            [HC_QUANTIZE_SCALES] = {"scales", HC_ALLOW_SCALES, HC_SIZE_RULE,
                                    .shape = "[M / rows, K / columns]",
                                    .note = "rounded up; of [K, M] with transpose"},
            [HC_QUANTIZE_TENSOR] = {"tensor", HC_ALLOW_FP32, HC_SIZE_FIXED, 1},
            [HC_QUANTIZE_AMAX] = {"amax", HC_ALLOW_FP32, HC_SIZE_FIXED, 1}},
    .rule = quantize_rule,
};

static enum hc_status dequantize_rule(const struct hc_call *call)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    enum hc_status status = hc_rule_rank(call, codes, 2);
    if (status == HC_OK)
        status = blocks_rule(call, codes, &call->in[HC_DEQUANTIZE_SCALES], p->rows, p->columns);
    return status == HC_OK ? hc_rule_shape(call, &call->out[HC_DEQUANTIZE_Y], 2, codes->shape)
                           : status;
}

static const struct hc_descriptor dequantize = {
    .params = dequantize_params,
    .in = {[HC_DEQUANTIZE_CODES] = {"codes", HC_ALLOW_CODES, HC_SIZE_RULE, .shape = "[M, K]",
                                    .values = HC_VALUES_DATA, .pass = HC_PASS_EITHER},
           [HC_DEQUANTIZE_SCALES] = {"scales", HC_ALLOW_SCALES, HC_SIZE_RULE,
                                     .shape = "[M / rows, K / columns]", .note = "rounded up",
                                     .values = HC_VALUES_SCALE},
           [HC_DEQUANTIZE_TENSOR] = {"tensor", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                     .values = HC_VALUES_SCALAR}},
    .out = {[HC_DEQUANTIZE_Y] = {"y", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[M, K]"}},
    .through_fp32 = true,
    .rule = dequantize_rule,
};

static enum hc_status delayed_numbers(const struct hc_call *call)
{
    const struct hc_delayed_scale *p = &call->params.delayed_scale;
    if ((unsigned)p->rule >= HC_DELAYED_RULE_COUNT)
        return hc_fail(HC_INVALID, "delayed_scale: no rule has the number %d", (int)p->rule);
    if ((unsigned)p->codes >= HC_FORMAT_COUNT || !(HC_CODE_FORMATS >> p->codes & 1))
        return hc_fail(HC_INVALID, "delayed_scale: codes is no format of codes");
    if (p->margin < -HC_DELAYED_MAX_MARGIN || p->margin > HC_DELAYED_MAX_MARGIN)
        return hc_fail(HC_INVALID, "delayed_scale: margin is %d, not -%d to %d", p->margin,
                       HC_DELAYED_MAX_MARGIN, HC_DELAYED_MAX_MARGIN);
    return HC_OK;
}

static enum hc_status delayed_rule(const struct hc_call *call)
{
    const struct hc_tensor *amax = &call->in[HC_DELAYED_AMAX];
    const struct hc_tensor *history = &call->in[HC_DELAYED_HISTORY];
    enum hc_status status = hc_rule_rank(call, amax, 1);
    if (status == HC_OK)
        status = hc_rule_shape(call, history, 2, (int64_t[]){-1, amax->shape[0]});
    if (status == HC_OK && history->shape[0] < 1)
        return hc_fail(HC_INVALID, "delayed_scale: a history of no steps");
    if (status == HC_OK)
        status = hc_rule_shape(call, &call->in[HC_DELAYED_SCALE], 1, amax->shape);
    if (status == HC_OK)
        status = hc_rule_shape(call, &call->out[HC_DELAYED_NEW_HISTORY], 2, history->shape);
    if (status == HC_OK)
        status = hc_rule_shape(call, &call->out[HC_DELAYED_NEW_SCALE], 1, amax->shape);
    return status == HC_OK ? delayed_numbers(call) : status;
}

static const struct hc_descriptor delayed_scale = {
    .params = delayed_scale_params,
    .in = {[HC_DELAYED_AMAX] = {"amax", HC_ALLOW_FP32, HC_SIZE_RULE, .shape = "[T]",
                                .values = HC_VALUES_AMAX},
           [HC_DELAYED_HISTORY] = {"history", HC_ALLOW_FP32, HC_SIZE_RULE, .shape = "[L, T]",
                                   .values = HC_VALUES_AMAX},
           [HC_DELAYED_SCALE] = {"scale", HC_ALLOW_FP32, HC_SIZE_RULE, .shape = "[T]",
                                 .values = HC_VALUES_SCALE}},
    .out = {[HC_DELAYED_NEW_HISTORY] = {"new_history", HC_ALLOW_FP32, HC_SIZE_RULE,
                                        .shape = "[L, T]", .like = HC_DELAYED_HISTORY,
                                        .in_place = true},
            [HC_DELAYED_NEW_SCALE] = {"new_scale", HC_ALLOW_FP32, HC_SIZE_RULE, .shape = "[T]",
                                      .like = HC_DELAYED_SCALE, .in_place = true}},
    .rule = delayed_rule,
};

const struct hc_descriptor *const hc_quant_ops[HC_OP_ROOM] = {
    [HC_OP_quantize] = &quantize,
    [HC_OP_dequantize] = &dequantize,
    [HC_OP_delayed_scale] = &delayed_scale,
    [HC_OP_im2col] = &im2col,
    [HC_OP_col2im] = &col2im,
    [HC_OP_stochastic_cast] = &stochastic_cast,
};

const struct hc_scale_rule_info hc_scale_rules[HC_SCALE_RULE_COUNT] = {
    [HC_SCALE_GIVEN] = {"given", HC_SCALE_OF_FP32, "the multiplier is an input", "", NULL},
#define HC_SCALE(id, name, kind, title, source, defects)                                           \
    [HC_SCALE_##id] = {name, HC_SCALE_##kind, title, source, defects},
#include "op/scale_rules.def"
#undef HC_SCALE
};

const struct hc_delayed_rule_info hc_delayed_rules[HC_DELAYED_RULE_COUNT] = {
#define HC_DELAYED(id, name, title, source, defects) {name, title, source, defects},
#include "op/delayed_rules.def"
#undef HC_DELAYED
};

const char *const hc_scale_rule_names[HC_SCALE_RULE_COUNT + 1] = {
    "given",
#define HC_SCALE(id, name, kind, title, source, defects) name,
#include "op/scale_rules.def"
#undef HC_SCALE
    NULL,
};

const char *const hc_delayed_rule_names[HC_DELAYED_RULE_COUNT + 1] = {
#define HC_DELAYED(id, name, title, source, defects) name,
#include "op/delayed_rules.def"
#undef HC_DELAYED
    NULL,
};

enum hc_scale_rule hc_scale_rule_by_name(const char *name)
{
    int r = 0;
    while (r < HC_SCALE_RULE_COUNT && strcmp(hc_scale_rule_names[r], name) != 0)
        r++;
    return (enum hc_scale_rule)r;
}

enum hc_delayed_rule hc_delayed_rule_by_name(const char *name)
{
    int r = 0;
    while (r < HC_DELAYED_RULE_COUNT && strcmp(hc_delayed_rule_names[r], name) != 0)
        r++;
    return (enum hc_delayed_rule)r;
}

enum hc_format hc_scale_format(enum hc_scale_rule rule)
{
    static const enum hc_format formats[] = {[HC_SCALE_OF_FP32] = HC_FP32,
                                             [HC_SCALE_OF_E8M0] = HC_E8M0,
                                             [HC_SCALE_OF_LEVELS] = HC_UE4M3};
    return formats[hc_scale_rules[rule].kind];
}
