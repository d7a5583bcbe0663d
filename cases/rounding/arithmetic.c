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

static const struct operation operations[] = {
    {HC_OP_add, HC_FP16}, {HC_OP_sub, HC_FP16}, {HC_OP_mul, HC_FP16}, {HC_OP_div, HC_FP16},
    {HC_OP_add, HC_BF16}, {HC_OP_sub, HC_BF16}, {HC_OP_mul, HC_BF16}, {HC_OP_div, HC_BF16},
};

static const char source[] = "IEEE 754-2019, 5.4.1";

static const struct hc_case cases[] = {
    {.name = "rounding/fp16/add",
     .title = "x + y of fp16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[0]},
    {.name = "rounding/fp16/sub",
     .title = "x - y of fp16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[1]},
    {.name = "rounding/fp16/mul",
     .title = "x * y of fp16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[2]},
    {.name = "rounding/fp16/div",
     .title = "x / y of fp16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[3]},
    {.name = "rounding/bf16/add",
     .title = "x + y of bf16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[4]},
    {.name = "rounding/bf16/sub",
     .title = "x - y of bf16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[5]},
    {.name = "rounding/bf16/mul",
     .title = "x * y of bf16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[6]},
    {.name = "rounding/bf16/div",
     .title = "x / y of bf16 values is correctly rounded for all pairs",
     .source = source,
     .run = pairs,
     .data = &operations[7]},
};

const struct hc_case_table hc_cases_rounding_arithmetic;
const struct hc_case_table hc_cases_rounding_arithmetic = {cases, sizeof cases / sizeof cases[0]};
