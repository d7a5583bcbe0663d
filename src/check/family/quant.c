/* Quantisation: codes below half, their scales, and how scales follow what was seen.

   What is to be quantised is small enough in normal numbers that few codes are 0. On boundaries one
   element in eight is the codes' largest number M times 2^j, with one j for the whole tensor: a
   block that has one has a power of two for its scale under most rules, and the other elements then
   are the codes' numbers, the midpoints between them and what lies beside these. */
#include <math.h>

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "num/ulp.h"

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

enum { OF_EVERY_SET = 12 }; /* of quantizes */

/* Rules have one set of formats or two, and all other variants each. */
static bool allows_quantize(const struct hc_format_set *set, const struct hc_variant *variant)
{
    bool levels = hc_scale_rules[variant->params.quantize.rule].kind == HC_SCALE_OF_LEVELS;
    if (levels)
        return set->out == HC_E2M1;
    return variant < quantizes + OF_EVERY_SET || set == &quantised[0] || set == &quantised[1];
}

/* Where codes have no NaN, one scale for all of them would have to be it. */
static bool applies_dequantize(const struct hc_call *call, enum hc_distribution distribution)
{
    return distribution != HC_DRAW_SPECIALS ||
           hc_formats[call->in[HC_DEQUANTIZE_CODES].format].special != HC_SPECIAL_NONE ||
           hc_tensor_count(&call->in[HC_DEQUANTIZE_SCALES]) > 1;
}

static void open_late(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    (void)call;
    (void)d;
    (void)variant; /* all shapes come with the formats */
}

static int64_t rounded_up(int64_t extent)
{
    return (extent + HC_HADAMARD - 1) / HC_HADAMARD * HC_HADAMARD;
}

/* An extent that a Hadamard matrix multiplies along is rounded up to 16. */
static void finish_quantize(struct hc_call *call, const int64_t *d, const struct hc_format_set *set)
{
    const struct hc_quantize *p = &call->params.quantize;
    int64_t rows = d[0];
    int64_t columns = p->hadamard ? rounded_up(d[1]) : d[1];
    (void)set;
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

static void finish_dequantize(struct hc_call *call, const int64_t *d,
                              const struct hc_format_set *set)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    call->in[HC_DEQUANTIZE_CODES] =
        hc_tensor2(call->in[HC_DEQUANTIZE_CODES].format, d[0], d[1], NULL);
    call->in[HC_DEQUANTIZE_SCALES] = hc_tensor2(set->work, hc_quant_blocks(d[0], p->rows),
                                                hc_quant_blocks(d[1], p->columns), NULL);
    call->out[HC_DEQUANTIZE_Y] = hc_tensor2(call->out[HC_DEQUANTIZE_Y].format, d[0], d[1], NULL);
}

/* d is steps and tensors. */
static void finish_delayed(struct hc_call *call, const int64_t *d, const struct hc_format_set *set)
{
    struct hc_tensor tensors = hc_tensor1(HC_FP32, d[1], NULL);
    struct hc_tensor history = hc_tensor2(HC_FP32, d[0], d[1], NULL);
    (void)set;
    call->in[HC_DELAYED_AMAX] = call->in[HC_DELAYED_SCALE] = tensors;
    call->out[HC_DELAYED_NEW_SCALE] = tensors;
    call->in[HC_DELAYED_HISTORY] = call->out[HC_DELAYED_NEW_HISTORY] = history;
}

/* A magnitude between 2^low and 2^high. */
static double between(const struct hc_draw_site *p, int low, int high)
{
    return ldexp(1 + hc_draw_uniform(p, 3), (int)floor(low + hc_draw_uniform(p, 2) * (high - low)));
}

/* A number of the codes' format or a midpoint, which fp32 holds, or a neighbour of that. */
static double tie(const struct hc_draw_site *p, enum hc_format codes)
{
    const struct hc_format_info *f = &hc_formats[codes];
    double most = hc_format_max(codes);
    double x = hc_round(codes, fmin(between(p, f->emin - f->precision, f->emax + 1), most));
    if (hc_draw_uniform(p, 4) < 0.7 && x < most)
        x += hc_ulp(codes, x) / 2;
    return x;
}

static double boundary(const struct hc_draw_site *p)
{
    enum hc_format codes = p->call->out[HC_QUANTIZE_CODES].format;
    int j = (int)(p->seed % 5) - 2;
    double x = hc_draw_uniform(p, 5) < 0.125 ? hc_format_max(codes) : tie(p, codes);
    double beside = floor(hc_draw_uniform(p, 7) * 3) - 1;
    x = ldexp(x, j);
    return hc_draw_sign(p) * (x == 0 ? x : x + beside * hc_ulp(p->format, x));
}

static const double specials[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, -0.0};

/* Whether an infinite element would leave nothing but zeros or NaNs of the whole tensor. */
static bool is_lost_to_infinity(const struct hc_call *call)
{
    enum hc_scale_rule rule = call->params.quantize.rule;
    bool keeps = rule == HC_SCALE_TE_CURRENT || rule == HC_SCALE_TE_BLOCK;
    bool one = hc_tensor_count(&call->out[HC_QUANTIZE_SCALES]) == 1;
    return call->op == HC_OP_quantize &&
           ((one && !keeps) || hc_scale_rules[rule].kind == HC_SCALE_OF_LEVELS);
}

/* One of fifty elements of the first half, so that half of the blocks stay finite. */
static double special(const struct hc_draw_site *p)
{
    uint64_t half = (uint64_t)hc_tensor_count(&p->call->in[p->stream]) / 2;
    int first = is_lost_to_infinity(p->call) ? 2 : 0;
    if (p->index == 0)
        return (double)NAN;
    if (p->index < half && hc_draw_uniform(p, 2) < 0.02)
        return specials[first + (int)(hc_draw_uniform(p, 3) * (4 - first))];
    return hc_draw_normal(p);
}

/* 32 neighbours of 64, so that whole blocks are subnormal and others are not. */
static double subnormal(const struct hc_draw_site *p)
{
    const struct hc_format_info *f = &hc_formats[p->format];
    if (p->index / 32 % 2 == 1)
        return hc_draw_normal(p);
    return hc_draw_sign(p) * fmax(ldexp(hc_draw_uniform(p, 2), f->emin), hc_format_tiny(p->format));
}

static double element(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    switch (distribution) {
    case HC_DRAW_LOGNORMAL:
        return hc_draw_sign(p) * between(p, -4, 4);
    case HC_DRAW_SUBNORMALS:
        return subnormal(p);
    case HC_DRAW_BOUNDARIES:
        return boundary(p);
    case HC_DRAW_SPECIALS:
        return special(p);
    default:
        return hc_draw_normal(p);
    }
}

static double code(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    const struct hc_format_info *f = &hc_formats[p->format];
    if (distribution == HC_DRAW_SPECIALS)
        return special(p);
    if (distribution == HC_DRAW_SUBNORMALS)
        return subnormal(p);
    if (distribution == HC_DRAW_NORMAL)
        return hc_draw_normal(p);
    return hc_draw_sign(p) * between(p, f->emin - f->precision + 1, f->emax);
}

/* A scale that is positive; with specials now and then one that is 0, infinite or NaN. */
static double scale(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    static const double bad[] = {0, (double)INFINITY, (double)NAN};
    bool one = hc_tensor_count(&p->call->in[p->stream]) == 1;
    if (distribution == HC_DRAW_SPECIALS && !one && p->index == 1)
        return (double)NAN;
    if (distribution == HC_DRAW_SPECIALS && !one && hc_draw_uniform(p, 4) < 0.1)
        return bad[(int)(hc_draw_uniform(p, 5) * 3)];
    if (distribution == HC_DRAW_BOUNDARIES)
        return between(p, -6, 6);
    if (distribution == HC_DRAW_SUBNORMALS && p->format == HC_E8M0 && p->index % 4 == 1)
        return hc_format_tiny(p->format);
    return between(p, -2, 2);
}

/* What tensors' magnitudes may come to; one in eight is idle. On boundaries it is M 2^j, or beside
   it, and in all of fp32's range log-normally. Every second tensor is subnormal, or has specials,
   and no other. */
static double amax(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    const struct hc_format_info *f = &hc_formats[HC_FP32];
    double most = hc_format_max(p->call->params.delayed_scale.codes);
    bool second = p->index % (uint64_t)p->call->in[HC_DELAYED_AMAX].shape[0] % 2;
    if (hc_draw_uniform(p, 6) < 0.125)
        return 0;
    switch (distribution) {
    case HC_DRAW_LOGNORMAL:
        return between(p, f->emin, f->emax);
    case HC_DRAW_SUBNORMALS:
        if (second)
            return fabs(hc_draw_normal(p));
        return fmax(ldexp(hc_draw_uniform(p, 2), f->emin), hc_format_tiny(HC_FP32));
    case HC_DRAW_BOUNDARIES:
        most = ldexp(most, (int)floor(80 * hc_draw_uniform(p, 2)) - 60);
        return most + (floor(hc_draw_uniform(p, 3) * 5) - 2) * hc_ulp(HC_FP32, most);
    case HC_DRAW_SPECIALS:
        if (!second && hc_draw_uniform(p, 4) < 0.1)
            return hc_draw_uniform(p, 5) < 0.5 ? (double)INFINITY : (double)NAN;
        return fabs(hc_draw_normal(p));
    default:
        return fabs(hc_draw_normal(p));
    }
}

static double draw(const struct hc_draw_site *p, enum hc_values values,
                   enum hc_distribution distribution)
{
    if (values == HC_VALUES_AMAX)
        return amax(p, distribution);
    if (values != HC_VALUES_DATA)
        return scale(p, distribution);
    return p->call->op == HC_OP_dequantize ? code(p, distribution) : element(p, distribution);
}

static void bit_shape(int64_t length, int64_t *d)
{
    enum { ROWS = 5 };
    d[0] = ROWS;
    d[1] = (length + ROWS - 1) / ROWS;
}

/* How many rows, and blocks in them, of a large matrix are different. */
enum { MATRIX_ROWS = 5, MATRIX_BLOCKS = 3 };

static void small_quantize(const union hc_params *params, int64_t *d)
{
    d[0] = hc_at_most(MATRIX_ROWS, d[0]);
    d[1] = hc_at_most(MATRIX_BLOCKS * params->quantize.columns, d[1]);
}

static void small_dequantize(const union hc_params *params, int64_t *d)
{
    d[0] = hc_at_most(MATRIX_ROWS, d[0]);
    d[1] = hc_at_most(MATRIX_BLOCKS * params->dequantize.columns, d[1]);
}

/* Elements of codes stay together in blocks; a scale is one of a block. */
static void layout(const struct hc_call *call, int slot, const struct hc_tensor *few,
                   const struct hc_tensor *large, struct hc_axes *to)
{
    (void)slot;
    const struct hc_tensor *all = &call->in[HC_FIRST];
    if (large->rank == 1) {
        hc_axes_add(to, HC_AXIS_TERMS, few->shape[0], large->shape[0], 1, 0);
        return;
    }
    bool scales = large->shape[1] < all->shape[1];
    int64_t block = call->op == HC_OP_quantize ? call->params.quantize.columns
                                               : call->params.dequantize.columns;
    hc_axes_add(to, HC_AXIS_ROWS, few->shape[0], large->shape[0], 1, 0);
    hc_axes_add(to, HC_AXIS_COLUMNS, few->shape[1], large->shape[1], scales ? 1 : block, 0);
}

/* A history has a row for each step; a column is a tensor's. */
static void small_delayed(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[1] = hc_small_vector(d[1]);
}

static void layout_of_delayed(const struct hc_call *call, int slot, const struct hc_tensor *few,
                              const struct hc_tensor *large, struct hc_axes *to)
{
    (void)call;
    (void)slot;
    if (large->rank == 2)
        hc_axes_add(to, HC_AXIS_TERMS, few->shape[0], large->shape[0], 1, 0);
    hc_axes_add(to, HC_AXIS_COLUMNS, few->shape[large->rank - 1], large->shape[large->rank - 1], 1,
                0);
}

static const struct hc_family_size delayed_sizes[] = {
    {HC_STANDARD, "fp32", "", {4, (1 << 20) + 1027}}, {.set = NULL}};
static const struct hc_family_size quantize_sizes[] = {
    {HC_STANDARD, "fp32-e4m3", "-rule-mx-floor", {1025, 1056}},
    {HC_STANDARD, HC_OTHER_SETS, "-1x128", {129, 1152}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, "-1x128", {1025, 1152}},
    {.set = NULL}};
static const struct hc_family_size dequantize_sizes[] = {
    {HC_STANDARD, "e4m3-e8m0-bf16", "-1x32-bare", {1025, 1056}},
    {HC_STANDARD, HC_OTHER_SETS, "-1x32-bare", {129, 1056}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, "-1x32-bare", {1025, 1056}},
    {.set = NULL}};

static const char no_sums[] = "amaxes, scales and codes are no sums";

#define ALL_QUANTISATIONS                                                                          \
    .sets_are_chosen = true, .first_set_is_quick = true, .open = open_late, .draw = draw,          \
    .bit_shape = bit_shape, .no_integers = no_sums, .reference_cost = 160

const struct hc_family hc_family_quantize = {
    ALL_QUANTISATIONS,       .sets = quantised,         .shapes = matrices,
    .variants = quantizes,   .allows = allows_quantize, .finish = finish_quantize,
    .small = small_quantize, .layout = layout,          .sizes = quantize_sizes};
const struct hc_family hc_family_dequantize = {ALL_QUANTISATIONS,
                                               .sets = decoded,
                                               .shapes = matrices,
                                               .variants = dequantizes,
                                               .applies = applies_dequantize,
                                               .finish = finish_dequantize,
                                               .small = small_dequantize,
                                               .layout = layout,
                                               .sizes = dequantize_sizes};
const struct hc_family hc_family_delayed_scale = {
    ALL_QUANTISATIONS,           .sets = hc_sets_fp32,     .shapes = histories,
    .variants = delayed,         .finish = finish_delayed, .small = small_delayed,
    .layout = layout_of_delayed, .sizes = delayed_sizes};
const struct hc_family hc_family_stochastic_cast = {
    .sets = hc_sets_none, .no_integers = no_sums, .reference_cost = 160};
