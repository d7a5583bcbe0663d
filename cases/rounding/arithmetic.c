/* The IEEE operations on 16-bit values, over all operands at level exhaustive. */
#include "case.h"

struct operation {
    enum hc_op op;
    enum hc_format format;
};

static void pairs(struct hc_check *check)
{
    const struct operation *o = hc_check_case(check)->data;
    hc_sweep_pairs(check, o->op, o->format);
}

static void roots(struct hc_check *check)
{
    const struct operation *o = hc_check_case(check)->data;
    hc_sweep_sqrt(check, o->format);
}

static void fused(struct hc_check *check)
{
    const struct operation *o = hc_check_case(check)->data;
    hc_sweep_fma(check, o->format);
}

static const struct operation operations[] = {
    {HC_OP_add, HC_FP16}, {HC_OP_sub, HC_FP16}, {HC_OP_mul, HC_FP16}, {HC_OP_div, HC_FP16},
    {HC_OP_add, HC_BF16}, {HC_OP_sub, HC_BF16}, {HC_OP_mul, HC_BF16}, {HC_OP_div, HC_BF16},
};

static const char source[] = "IEEE 754-2019, 5.4.1";

static const struct hc_case cases[] = {
    {"rounding/fp16/add", "x + y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[0]},
    {"rounding/fp16/sub", "x - y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[1]},
    {"rounding/fp16/mul", "x * y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[2]},
    {"rounding/fp16/div", "x / y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[3]},
    {"rounding/fp16/sqrt", "the square root of every fp16 value is correctly rounded", source,
     .run = roots, .data = &operations[3]},
    {"rounding/fp16/fma", "x * y + z of fp16 values is rounded once", source, .run = fused,
     .data = &operations[3]},
    {"rounding/bf16/add", "x + y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[4]},
    {"rounding/bf16/sub", "x - y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[5]},
    {"rounding/bf16/mul", "x * y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[6]},
    {"rounding/bf16/div", "x / y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[7]},
    {"rounding/bf16/sqrt", "the square root of every bf16 value is correctly rounded", source,
     .run = roots, .data = &operations[7]},
    {"rounding/bf16/fma", "x * y + z of bf16 values is rounded once", source, .run = fused,
     .data = &operations[7]},
};

HC_CASES(rounding_arithmetic, cases);
