#include "check/generate/op_space.h"

#include "check/generate/op_quant.h"
#include "op/descriptor.h"

static const struct hc_format_set ieee[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_BF16, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {.name = NULL},
};

static const struct hc_format_set casts[] = {
    {"fp32-fp16", HC_FP32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-bf16", HC_FP32, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp16-bf16", HC_FP16, HC_BF16, HC_FP32, HC_FP32},
    {"bf16-fp16", HC_BF16, HC_FP16, HC_FP32, HC_FP32},
    {"fp64-fp16", HC_FP64, HC_FP16, HC_FP32, HC_FP32},
    {"fp64-bf16", HC_FP64, HC_BF16, HC_FP32, HC_FP32},
    {"fp64-fp32", HC_FP64, HC_FP32, HC_FP32, HC_FP32},
    {"fp32-tf32", HC_FP32, HC_TF32, HC_FP32, HC_FP32},
    {"fp32-e4m3", HC_FP32, HC_E4M3, HC_FP32, HC_FP32},
    {"fp32-e5m2", HC_FP32, HC_E5M2, HC_FP32, HC_FP32},
    {"fp16-e5m2", HC_FP16, HC_E5M2, HC_FP32, HC_FP32},
    {"e4m3-fp16", HC_E4M3, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-e4m3fnuz", HC_FP32, HC_E4M3FNUZ, HC_FP32, HC_FP32},
    {"bf16-e5m2fnuz", HC_BF16, HC_E5M2FNUZ, HC_FP32, HC_FP32},
    {"fp32-e2m3", HC_FP32, HC_E2M3, HC_FP32, HC_FP32},
    {"bf16-e3m2", HC_BF16, HC_E3M2, HC_FP32, HC_FP32},
    {"bf16-e2m1", HC_BF16, HC_E2M1, HC_FP32, HC_FP32},
    {"fp32-e8m0", HC_FP32, HC_E8M0, HC_FP32, HC_FP32},
    {"e5m2fnuz-fp32", HC_E5M2FNUZ, HC_FP32, HC_FP32, HC_FP32},
    {"i32-fp16", HC_I32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-i32", HC_FP32, HC_I32, HC_FP32, HC_FP32},
    {.name = NULL},
};

/* Inputs and outputs of H, accumulated in fp32. */
static const struct hc_format_set mixed[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp32-fp16", HC_FP32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-bf16", HC_FP32, HC_BF16, HC_FP32, HC_FP32},
    {.name = NULL},
};

/* Also fp32 inputs taken as tf32, fp16 accumulated in fp16, and, in gemm alone, fp8. */
static const struct hc_format_set multiplied[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp32-fp16", HC_FP32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-bf16", HC_FP32, HC_BF16, HC_FP32, HC_FP32},
    {"fp32-as-tf32", HC_FP32, HC_FP32, HC_FP32, HC_TF32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP16},
    {"fp16-in-fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP16},
    {"e4m3-fp32", HC_E4M3, HC_FP32, HC_E4M3, HC_FP32},
    {"e4m3xe5m2-fp32", HC_E4M3, HC_FP32, HC_E5M2, HC_FP32},
    {"e5m2xe4m3-fp32", HC_E5M2, HC_FP32, HC_E4M3, HC_FP32},
    {"e5m2-fp32", HC_E5M2, HC_FP32, HC_E5M2, HC_FP32},
    {"e4m3-bf16", HC_E4M3, HC_BF16, HC_E4M3, HC_FP32},
    {.name = NULL},
};

/* Also accumulated in the inputs' format. */
static const struct hc_format_set reduced[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP16},
    {"bf16-in-bf16", HC_BF16, HC_BF16, HC_FP32, HC_BF16},
    {.name = NULL},
};

/* Batch norm, and optimizers with fp32 or 16-bit state. */
static const struct hc_format_set stateful[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-state-fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP32},
    {"bf16-state-bf16", HC_BF16, HC_BF16, HC_BF16, HC_FP32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP16},
    {"bf16-in-bf16", HC_BF16, HC_BF16, HC_BF16, HC_BF16},
    {.name = NULL},
};

/* Averages over ranks: what gradients are held in, and what their sums are rounded into. */
static const struct hc_format_set averaged[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP16},
    {"bf16-in-bf16", HC_BF16, HC_BF16, HC_FP32, HC_BF16},
    {"fp32-in-fp16", HC_FP32, HC_FP32, HC_FP32, HC_FP16},
    {"fp32-in-bf16", HC_FP32, HC_FP32, HC_FP32, HC_BF16},
    {"bf16-in-fp16", HC_BF16, HC_BF16, HC_FP32, HC_FP16},
    {.name = NULL},
};

static const struct hc_format_set plain_fp32[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {.name = NULL},
};

static const struct hc_op_shape vectors[] = {
    {"257", HC_QUICK, true, false, {257}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"33", HC_STANDARD, false, false, {33}},
    {"130-in-place", HC_STANDARD, false, true, {130}},
    {"4099", HC_EXHAUSTIVE, true, false, {4099}},
    {.name = NULL},
};

static const struct hc_op_shape sums[] = {
    {"257", HC_QUICK, true, false, {257}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"33-in-place", HC_STANDARD, false, true, {33}},
    {"40", HC_STANDARD, true, false, {40}},
    {"4099", HC_STANDARD, false, false, {4099}},
    {"100003", HC_EXHAUSTIVE, true, false, {100003}},
    {.name = NULL},
};

static const struct hc_op_shape products[] = {
    {"13x9x33", HC_QUICK, true, false, {13, 9, 33}},
    {"0x5x3", HC_STANDARD, false, false, {0, 5, 3}},
    {"5x3x0", HC_STANDARD, false, false, {5, 3, 0}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"8x64x16", HC_STANDARD, false, false, {8, 64, 16}},
    {"5x3x300", HC_STANDARD, false, false, {5, 3, 300}},
    {"65x129x300", HC_EXHAUSTIVE, true, false, {65, 129, 300}},
    {.name = NULL},
};

/* K that blocks of 16, 32 and 128 divide, and do not. */
static const struct hc_op_shape block_products[] = {
    {"13x9x70", HC_QUICK, true, false, {13, 9, 70}},
    {"0x5x3", HC_STANDARD, false, false, {0, 5, 3}},
    {"5x3x0", HC_STANDARD, false, false, {5, 3, 0}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"33x40x128", HC_STANDARD, false, false, {33, 40, 128}},
    {"5x3x300", HC_STANDARD, true, false, {5, 3, 300}},
    {"50x70x260", HC_EXHAUSTIVE, true, false, {50, 70, 260}},
    {.name = NULL},
};

static const struct hc_op_shape convolutions[] = {
    {"2x7x5x6-k10r3", HC_QUICK, true, false, {2, 7, 5, 6, 10, 3, 1, 1}},
    {"2x8x8x3-k5r3-s2", HC_STANDARD, true, false, {2, 8, 8, 3, 5, 3, 2, 1}},
    {"3x4x4x3-k4r2-p2", HC_STANDARD, true, false, {3, 4, 4, 3, 4, 2, 1, 2}},
    {"2x5x5x9-k7r1", HC_STANDARD, false, false, {2, 5, 5, 9, 7, 1, 1, 0}},
    {"1x7x7x8-k16r1-s2", HC_STANDARD, false, false, {1, 7, 7, 8, 16, 1, 2, 0}},
    {"3x6x6x1-k1r3-p0", HC_STANDARD, false, false, {3, 6, 6, 1, 1, 3, 1, 0}},
    {"1x3x3x16-k16r3", HC_STANDARD, false, false, {1, 3, 3, 16, 16, 3, 1, 1}},
    {"2x3x3x32-k32r1", HC_STANDARD, true, false, {2, 3, 3, 32, 32, 1, 1, 0}},
    {"0x4x4x3-k2r3", HC_STANDARD, false, false, {0, 4, 4, 3, 2, 3, 1, 1}},
    {"1x9x9x4-k3r5-s3p2", HC_STANDARD, false, false, {1, 9, 9, 4, 3, 5, 3, 2}},
    {"4x16x16x24-k40r3", HC_EXHAUSTIVE, true, false, {4, 16, 16, 24, 40, 3, 1, 1}},
    {.name = NULL},
};

/* Convolutions as products of matrices. */
static const struct hc_op_shape columns[] = {
    {"2x7x5x6-r3", HC_QUICK, true, false, {2, 7, 5, 6, 0, 3, 1, 1}},
    {"2x8x8x3-r3-s2", HC_STANDARD, true, false, {2, 8, 8, 3, 0, 3, 2, 1}},
    {"3x4x4x3-r2-p2", HC_STANDARD, true, false, {3, 4, 4, 3, 0, 2, 1, 2}},
    {"1x7x7x8-r1-s2", HC_STANDARD, false, false, {1, 7, 7, 8, 0, 1, 2, 0}},
    {"0x4x4x3-r3", HC_STANDARD, false, false, {0, 4, 4, 3, 0, 3, 1, 1}},
    {"1x9x9x4-r5-s3p2", HC_STANDARD, false, false, {1, 9, 9, 4, 0, 5, 3, 2}},
    {"4x16x16x24-r3", HC_EXHAUSTIVE, true, false, {4, 16, 16, 24, 0, 3, 1, 1}},
    {.name = NULL},
};

static const struct hc_op_shape batches[] = {
    {"4x3x5x6", HC_QUICK, true, false, {4, 3, 5, 6}},
    {"1x1x1x3", HC_STANDARD, false, false, {1, 1, 1, 3}},
    {"2x1x1x13", HC_STANDARD, false, false, {2, 1, 1, 13}},
    {"3x7x7x1", HC_STANDARD, false, false, {3, 7, 7, 1}},
    {"2x3x3x0", HC_STANDARD, false, false, {2, 3, 3, 0}},
    {"17x4x4x16", HC_STANDARD, false, false, {17, 4, 4, 16}},
    {"2x3x3x132", HC_STANDARD, false, false, {2, 3, 3, 132}},
    {"3x2x2x5-in-place", HC_STANDARD, false, true, {3, 2, 2, 5}},
    {"8x6x6x40", HC_EXHAUSTIVE, true, false, {8, 6, 6, 40}},
    {.name = NULL},
};

/* Ranks and channels: one rank, two, as many as a node has, and many of them. */
static const struct hc_op_shape ranks[] = {
    {"4x6", HC_QUICK, true, false, {4, 1, 1, 6}},
    {"1x3", HC_STANDARD, false, false, {1, 1, 1, 3}},
    {"2x13", HC_STANDARD, true, false, {2, 1, 1, 13}},
    {"8x0", HC_STANDARD, false, false, {8, 1, 1, 0}},
    {"8x33", HC_STANDARD, true, false, {8, 1, 1, 33}},
    {"64x16", HC_STANDARD, false, false, {64, 1, 1, 16}},
    {"3x5-in-place", HC_STANDARD, false, true, {3, 1, 1, 5}},
    {"1000x70", HC_EXHAUSTIVE, true, false, {1000, 1, 1, 70}},
    {.name = NULL},
};

static const struct hc_op_shape pools[] = {
    {"2x6x9x5-3", HC_QUICK, true, false, {2, 6, 9, 5, 3}},
    {"1x1x1x1-1", HC_STANDARD, false, false, {1, 1, 1, 1, 1}},
    {"1x4x4x3-2", HC_STANDARD, false, false, {1, 4, 4, 3, 2}},
    {"0x4x4x3-2", HC_STANDARD, false, false, {0, 4, 4, 3, 2}},
    {.name = NULL},
};

static const struct hc_op_shape losses[] = {
    {"17x10", HC_QUICK, true, false, {17, 10}},
    {"1x1", HC_STANDARD, false, false, {1, 1}},
    {"5x3", HC_STANDARD, false, false, {5, 3}},
    {"3x129", HC_STANDARD, false, false, {3, 129}},
    {"70x3", HC_STANDARD, false, false, {70, 3}},
    {"70x300", HC_EXHAUSTIVE, false, false, {70, 300}},
    {.name = NULL},
};

/* Rows of a table. */
static const struct hc_op_shape tables[] = {
    {"7", HC_QUICK, true, false, {7}},
    {"1", HC_STANDARD, true, false, {1}},
    {"32", HC_STANDARD, true, false, {32}},
    {"65", HC_STANDARD, true, false, {65}},
    {"5-in-place", HC_STANDARD, true, true, {5}},
    {"1001", HC_STANDARD, false, false, {1001}},
    {.name = NULL},
};

/* Ranks and the length of their vectors: powers of two and others, and vectors that leave chunks of
   a ring empty. */
static const struct hc_op_shape vectors_of_ranks[] = {
    {"4x257", HC_QUICK, true, false, {4, 257}},
    {"1x33", HC_STANDARD, false, false, {1, 33}},
    {"2x40", HC_STANDARD, false, false, {2, 40}},
    {"3x0", HC_STANDARD, false, false, {3, 0}},
    {"7x130", HC_STANDARD, false, false, {7, 130}},
    {"8x5", HC_STANDARD, false, false, {8, 5}},
    {"13x33", HC_STANDARD, true, false, {13, 33}},
    {"64x129", HC_STANDARD, false, false, {64, 129}},
    {"64x4099", HC_EXHAUSTIVE, false, false, {64, 4099}},
    {.name = NULL},
};

static const struct hc_op_shape scalars[] = {
    {"1", HC_QUICK, true, false, {1}},
    {"1-in-place", HC_STANDARD, true, true, {1}},
    {.name = NULL},
};

/* Codes of both factors, the result, and the scales. */
static const struct hc_format_set quantised[] = {
    {"e4m3-fp32", HC_E4M3, HC_FP32, HC_E4M3, HC_FP32},
    {"e4m3-e8m0-fp32", HC_E4M3, HC_FP32, HC_E4M3, HC_E8M0},
    {"e2m1-ue4m3-fp32", HC_E2M1, HC_FP32, HC_E2M1, HC_UE4M3},
    {"e5m2-bf16", HC_E5M2, HC_BF16, HC_E5M2, HC_FP32},
    {"e4m3xe5m2-bf16", HC_E4M3, HC_BF16, HC_E5M2, HC_FP32},
    {"e5m2xe4m3-e8m0-fp16", HC_E5M2, HC_FP16, HC_E4M3, HC_E8M0},
    {"e4m3fnuz-fp32", HC_E4M3FNUZ, HC_FP32, HC_E4M3FNUZ, HC_FP32},
    {"e5m2fnuzxe4m3fnuz-bf16", HC_E5M2FNUZ, HC_BF16, HC_E4M3FNUZ, HC_FP32},
    {"e2m3-e8m0-fp32", HC_E2M3, HC_FP32, HC_E2M3, HC_E8M0},
    {"e3m2-e8m0-bf16", HC_E3M2, HC_BF16, HC_E3M2, HC_E8M0},
    {"e2m1-e8m0-fp16", HC_E2M1, HC_FP16, HC_E2M1, HC_E8M0},
    {.name = NULL},
};

static const struct hc_format_set none[] = {{.name = NULL}};

static const struct hc_opspace by_class[] = {
    [HC_CLASS_ELEMENTWISE] = {mixed, vectors}, [HC_CLASS_REDUCTION] = {reduced, sums},
    [HC_CLASS_GEMM] = {multiplied, products},  [HC_CLASS_CONV] = {multiplied, convolutions},
    [HC_CLASS_NORM] = {stateful, batches},     [HC_CLASS_POOL] = {mixed, pools},
    [HC_CLASS_LOSS] = {mixed, losses},         [HC_CLASS_OPTIMIZER] = {stateful, vectors},
    [HC_CLASS_CONTROL] = {none, vectors},      [HC_CLASS_COLLECTIVE] = {averaged, vectors_of_ranks},
    [HC_CLASS_QUANT] = {none, vectors},
};

/* Ops whose formats or shapes are not those of their class. */
static const struct hc_opspace by_op[HC_OP_COUNT] = {
    [HC_OP_rates] = {plain_fp32, tables}, [HC_OP_step_log] = {plain_fp32, tables},
    [HC_OP_sum_squares] = {mixed, sums},  [HC_OP_bn_combine] = {stateful, ranks},
    [HC_OP_clip] = {plain_fp32, scalars}, [HC_OP_im2col] = {mixed, columns},
    [HC_OP_col2im] = {mixed, columns},    [HC_OP_gemm_q] = {quantised, block_products},
};

struct hc_opspace hc_opspace(enum hc_op op)
{
    if (hc_is_op_quant(op))
        return hc_opspace_quant(op);
    struct hc_opspace space = by_op[op].sets ? by_op[op] : by_class[hc_ops[op].class_];
    enum hc_allowed format = hc_descriptor(op)->in[HC_FIRST].format;
    if (format == HC_ALLOW_FLOAT_OR_FP64)
        space.sets = ieee;
    if (format == HC_ALLOW_ANY)
        space.sets = casts;
    space.variants = hc_op_variants(op);
    return space;
}

/* Of Adam's orders these compute in fp32 alone. */
static bool computes_in_fp32(enum hc_op op, const struct hc_variant *variant)
{
    enum hc_adam_order order = variant->params.adam.order;
    return (op == HC_OP_adam || op == HC_OP_adamw) &&
           (order == HC_ORDER_TORCH_FUSED || order == HC_ORDER_APEX);
}

bool hc_format_set_allowed(enum hc_op op, const struct hc_format_set *set,
                           const struct hc_variant *variant)
{
    if (hc_is_op_quant(op))
        return hc_format_set_allowed_quant(op, set, variant);
    if (computes_in_fp32(op, variant) && hc_formats[set->work].bytes == 2)
        return false;
    const struct hc_stochastic *stochastic = hc_optimizer_stochastic(op, &variant->params);
    if (stochastic && stochastic->on && (set->state != HC_BF16 || set->work != HC_FP32))
        return false;
    if (variant->compensated && hc_formats[set->state].bytes != 2)
        return false;
    const struct hc_descriptor *d = hc_descriptor(op);
    enum hc_allowed in = d->in[HC_FIRST].format;
    enum hc_allowed out = d->out[HC_FIRST].format;
    if (in == HC_ALLOW_FP32 && set->in != HC_FP32)
        return false;
    if (hc_is_fp8(set->in) && !(hc_slot_formats(op, HC_FIRST, false) >> set->in & 1))
        return false;
    if (set->in == HC_FP64 && !d->fp64 && in != HC_ALLOW_FLOAT_OR_FP64 && in != HC_ALLOW_ANY)
        return false;
    /* Batch norm computes in fp32 whatever its state is, or all of it is fp64. */
    if (hc_ops[op].class_ == HC_CLASS_NORM && set->work != HC_FP32 && set->work != HC_FP64)
        return false;
    /* Convolutions accumulate in fp32 alone. */
    if (hc_ops[op].class_ == HC_CLASS_CONV && set->work == HC_FP16)
        return false;
    if (hc_ops[op].class_ == HC_CLASS_OPTIMIZER)
        return true;
    return (out != HC_ALLOW_LIKE && out != HC_ALLOW_FP32 && out != HC_ALLOW_WIDE) ||
           set->in == set->out;
}
