#include "check/generate/op_quant.h"

#include "op/descriptor.h"

bool hc_is_op_quant(enum hc_op op)
{
    return op == HC_OP_quantize || op == HC_OP_dequantize || op == HC_OP_delayed_scale;
}

/* x and codes. */
static const struct hc_format_set quantised[] = {
    {"fp32-e4m3", HC_FP32, HC_E4M3, HC_FP32, HC_FP32},
    {"fp32-e2m1", HC_FP32, HC_E2M1, HC_FP32, HC_FP32},
    {"bf16-e4m3", HC_BF16, HC_E4M3, HC_FP32, HC_FP32},
    {"bf16-e5m2", HC_BF16, HC_E5M2, HC_FP32, HC_FP32},
    {"fp16-e4m3fnuz", HC_FP16, HC_E4M3FNUZ, HC_FP32, HC_FP32},
    {"fp32-e5m2fnuz", HC_FP32, HC_E5M2FNUZ, HC_FP32, HC_FP32},
    {"fp32-e2m3", HC_FP32, HC_E2M3, HC_FP32, HC_FP32},
    {"fp16-e3m2", HC_FP16, HC_E3M2, HC_FP32, HC_FP32},
    {"bf16-e2m1", HC_BF16, HC_E2M1, HC_FP32, HC_FP32},
    {.name = NULL},
};

/* Codes, y and scales. */
static const struct hc_format_set decoded[] = {
    {"e4m3-fp32", HC_E4M3, HC_FP32, HC_FP32, HC_FP32},
    {"e4m3-e8m0-bf16", HC_E4M3, HC_BF16, HC_FP32, HC_E8M0},
    {"e5m2-fp16", HC_E5M2, HC_FP16, HC_FP32, HC_FP32},
    {"e4m3fnuz-bf16", HC_E4M3FNUZ, HC_BF16, HC_FP32, HC_FP32},
    {"e5m2fnuz-fp32", HC_E5M2FNUZ, HC_FP32, HC_FP32, HC_FP32},
    {"e2m3-e8m0-fp16", HC_E2M3, HC_FP16, HC_FP32, HC_E8M0},
    {"e3m2-e8m0-fp32", HC_E3M2, HC_FP32, HC_FP32, HC_E8M0},
    {"e2m1-ue4m3-bf16", HC_E2M1, HC_BF16, HC_FP32, HC_UE4M3},
    {.name = NULL},
};

static const struct hc_format_set plain[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {.name = NULL},
};

/* Blocks do not divide all of them. */
static const struct hc_op_shape matrices[] = {
    {"17x48", HC_QUICK, true, false, {17, 48}},
    {"0x33", HC_STANDARD, false, false, {0, 33}},
    {"1x1", HC_STANDARD, false, false, {1, 1}},
    {"33x70", HC_STANDARD, false, false, {33, 70}},
    {"130x272", HC_EXHAUSTIVE, true, false, {130, 272}},
    {.name = NULL},
};

static const struct hc_op_shape histories[] = {
    {"16x37", HC_QUICK, true, false, {16, 37}},
    {"1x15", HC_STANDARD, true, false, {1, 15}},
    {"4x0", HC_STANDARD, false, false, {4, 0}},
    {"4x33-in-place", HC_STANDARD, true, true, {4, 33}},
    {"1024x48", HC_STANDARD, false, false, {1024, 48}},
    {.name = NULL},
};

struct hc_opspace hc_opspace_quant(enum hc_op op)
{
    struct hc_opspace space = {quantised, matrices, hc_op_variants_quant(op)};
    if (op == HC_OP_dequantize)
        space.sets = decoded;
    if (op == HC_OP_delayed_scale)
        space = (struct hc_opspace){plain, histories, space.variants};
    return space;
}

/* The blocks that are usual under a kind of rule. */
enum {
    ROWS_OF_FP32 = 0,
    COLUMNS_OF_FP32 = 0,
    ROWS_OF_E8M0 = 1,
    COLUMNS_OF_E8M0 = 32,
    ROWS_OF_LEVELS = 1,
    COLUMNS_OF_LEVELS = 16
};

/* First those that every set of formats has, then a rule each. */
static const struct hc_variant quantizes[] = {
    {.name = "", .params.quantize = {.rule = HC_SCALE_TE_CURRENT}},
    {.name = "-given", .params.quantize = {.rule = HC_SCALE_GIVEN}},
    {.name = "-transpose", .params.quantize = {.rule = HC_SCALE_TE_CURRENT, .transpose = true}},
    {.name = "-rows", .params.quantize = {.rule = HC_SCALE_TORCHAO, .rows = 1}},
    {.name = "-1x128", .params.quantize = {.rule = HC_SCALE_TE_BLOCK, .rows = 1, .columns = 128}},
    {.name = "-16x16-transpose",
     .params.quantize = {.rule = HC_SCALE_DEEPGEMM, .rows = 16, .columns = 16, .transpose = true}},
    {.name = "-3x7-random-5",
     .params.quantize = {.rule = HC_SCALE_TE_BLOCK_FP32,
                         .rows = 3,
                         .columns = 7,
                         .random_bits = 5,
                         .seed = 0x5eed0000beef}},
    {.name = "-1x32-transpose",
     .params.quantize = {.rule = HC_SCALE_MX_RP, .rows = 1, .columns = 32, .transpose = true}},
    {.name = "-1x32-random-16",
     .params.quantize = {.rule = HC_SCALE_MX_FLOOR,
                         .rows = 1,
                         .columns = 32,
                         .random_bits = 16,
                         .step = 0x3456789}},
    {.name = "-hadamard-1x32",
     .params.quantize = {.rule = HC_SCALE_MX_RP, .rows = 1, .columns = 32, .hadamard = true}},
    {.name = "-nvfp4-16x16",
     .params.quantize = {.rule = HC_SCALE_NVFP4_TE, .rows = 16, .columns = 16}},
    {.name = "-nvfp4-wgrad",
     .params.quantize = {.rule = HC_SCALE_NVFP4_TE,
                         .rows = 1,
                         .columns = 16,
                         .transpose = true,
                         .hadamard = true,
                         .random_bits = 8,
                         .seed = 0x5eed0000beef,
                         .step = 0x3456789}},
#define HC_SCALE(id, rule_name, kind, title, source, defects)                                      \
    {.name = "-rule-" rule_name,                                                                   \
     .params.quantize = {.rule = HC_SCALE_##id, .rows = ROWS_##kind, .columns = COLUMNS_##kind}},
#include "op/scale_rules.def"
#undef HC_SCALE
    {.name = NULL},
};

static const struct hc_variant dequantizes[] = {
    {.name = "", .params.dequantize = {0, 0}},
    {.name = "-bare", .params.dequantize = {0, 0}, .bare = true},
    {.name = "-1x32-bare", .params.dequantize = {1, 32}, .bare = true},
    {.name = "-1x16", .params.dequantize = {1, 16}},
    {.name = "-3x7", .params.dequantize = {3, 7}},
    {.name = NULL},
};

static const struct hc_variant delayed[] = {
    {.name = "", .params.delayed_scale = {.rule = HC_DELAYED_TE, .codes = HC_E4M3}},
#define HC_DELAYED(id, rule_name, title, source, defects)                                          \
    {.name = "-" rule_name, .params.delayed_scale = {.rule = HC_DELAYED_##id, .codes = HC_E5M2}},  \
        {.name = "-" rule_name "-margin",                                                          \
         .params.delayed_scale = {.rule = HC_DELAYED_##id, .codes = HC_E4M3, .margin = 2}},        \
        {.name = "-" rule_name "-most-recent",                                                     \
         .params.delayed_scale = {                                                                 \
             .rule = HC_DELAYED_##id, .codes = HC_E4M3, .most_recent = true}},
#include "op/delayed_rules.def"
#undef HC_DELAYED
    {.name = NULL},
};

const struct hc_variant *hc_op_variants_quant(enum hc_op op)
{
    return op == HC_OP_quantize ? quantizes : op == HC_OP_dequantize ? dequantizes : delayed;
}

enum { OF_EVERY_SET = 12 }; /* of quantizes */

bool hc_format_set_allowed_quant(enum hc_op op, const struct hc_format_set *set,
                                 const struct hc_variant *variant)
{
    if (op != HC_OP_quantize)
        return true;
    bool levels = hc_scale_rules[variant->params.quantize.rule].kind == HC_SCALE_OF_LEVELS;
    if (levels)
        return set->out == HC_E2M1;
    return variant < quantizes + OF_EVERY_SET || set == &quantised[0] || set == &quantised[1];
}

/* Where codes have no NaN, one scale for all of them would have to be it. */
bool hc_distribution_applies_quant(const struct hc_call *call, enum hc_distribution distribution)
{
    return call->op != HC_OP_dequantize || distribution != HC_DRAW_SPECIALS ||
           hc_formats[call->in[HC_DEQUANTIZE_CODES].format].special != HC_SPECIAL_NONE ||
           hc_tensor_count(&call->in[HC_DEQUANTIZE_SCALES]) > 1;
}

static int64_t rounded_up(int64_t extent)
{
    return (extent + HC_HADAMARD - 1) / HC_HADAMARD * HC_HADAMARD;
}

static void quantize(struct hc_call *call, const int64_t *d)
{
    const struct hc_quantize *p = &call->params.quantize;
    int64_t rows = d[0];
    int64_t columns = p->hadamard ? rounded_up(d[1]) : d[1];
    call->in[HC_QUANTIZE_X] =
        hc_tensor2(call->in[HC_QUANTIZE_X].format, p->transpose ? columns : rows,
                   p->transpose ? rows : columns, NULL);
    if (p->rule != HC_SCALE_GIVEN)
        call->in[HC_QUANTIZE_SCALE] = hc_tensor1(HC_FP32, 0, NULL);
    call->out[HC_QUANTIZE_CODES] =
        hc_tensor2(call->out[HC_QUANTIZE_CODES].format, rows, columns, NULL);
    call->out[HC_QUANTIZE_SCALES] =
        hc_tensor2(hc_scale_format(p->rule), hc_quant_blocks(rows, p->rows),
                   hc_quant_blocks(columns, p->columns), NULL);
}

static void dequantize(struct hc_call *call, const int64_t *d, enum hc_format scales)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    call->in[HC_DEQUANTIZE_CODES] =
        hc_tensor2(call->in[HC_DEQUANTIZE_CODES].format, d[0], d[1], NULL);
    call->in[HC_DEQUANTIZE_SCALES] =
        hc_tensor2(scales, hc_quant_blocks(d[0], p->rows), hc_quant_blocks(d[1], p->columns), NULL);
    call->out[HC_DEQUANTIZE_Y] = hc_tensor2(call->out[HC_DEQUANTIZE_Y].format, d[0], d[1], NULL);
}

void hc_op_call_quant(struct hc_call *call, const int64_t *d, enum hc_format scales)
{
    if (call->op == HC_OP_quantize) {
        quantize(call, d);
        return;
    }
    if (call->op == HC_OP_dequantize) {
        dequantize(call, d, scales);
        return;
    }
    struct hc_tensor tensors = hc_tensor1(HC_FP32, d[1], NULL);
    struct hc_tensor history = hc_tensor2(HC_FP32, d[0], d[1], NULL);
    call->in[HC_DELAYED_AMAX] = call->in[HC_DELAYED_SCALE] = tensors;
    call->out[HC_DELAYED_NEW_SCALE] = tensors;
    call->in[HC_DELAYED_HISTORY] = call->out[HC_DELAYED_NEW_HISTORY] = history;
}
