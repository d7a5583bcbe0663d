/* The sets of formats that the generated cases give to an op. */
#include "check/generate/op_space.h"
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
    {"e4m3fnuz-fp32", HC_E4M3FNUZ, HC_FP32, HC_E4M3FNUZ, HC_FP32},
    {"e5m2fnuz-bf16", HC_E5M2FNUZ, HC_BF16, HC_E5M2FNUZ, HC_FP32},
    {"e4m3fnuzxe5m2fnuz-fp32", HC_E4M3FNUZ, HC_FP32, HC_E5M2FNUZ, HC_FP32},
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

static const struct hc_format_set plain_fp32[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {.name = NULL},
};

static const struct hc_format_set none[] = {{.name = NULL}};

static const struct hc_format_set *const by_class[] = {
    [HC_CLASS_ELEMENTWISE] = mixed,   [HC_CLASS_REDUCTION] = reduced,  [HC_CLASS_GEMM] = multiplied,
    [HC_CLASS_CONV] = multiplied,     [HC_CLASS_NORM] = stateful,      [HC_CLASS_POOL] = mixed,
    [HC_CLASS_LOSS] = mixed,          [HC_CLASS_OPTIMIZER] = stateful, [HC_CLASS_CONTROL] = none,
    [HC_CLASS_COLLECTIVE] = averaged, [HC_CLASS_QUANT] = none,
};

/* Ops whose formats are not those of their class. */
static const struct hc_format_set *const by_op[HC_OP_COUNT] = {
    [HC_OP_rates] = plain_fp32, [HC_OP_step_log] = plain_fp32, [HC_OP_sum_squares] = mixed,
    [HC_OP_clip] = plain_fp32,  [HC_OP_im2col] = mixed,        [HC_OP_col2im] = mixed,
    [HC_OP_gemm_q] = quantised,
};

const struct hc_format_set *hc_op_format_sets(enum hc_op op)
{
    enum hc_allowed format = hc_descriptor(op)->in[HC_FIRST].format;
    if (format == HC_ALLOW_FLOAT_OR_FP64)
        return ieee;
    if (format == HC_ALLOW_ANY)
        return casts;
    return by_op[op] ? by_op[op] : by_class[hc_ops[op].class_];
}
