/* Conversions from fp32, over all inputs at level exhaustive. */
#include "case.h"

struct conversion {
    enum hc_format to;
    enum hc_direction direction;
};

static void from_fp32(struct hc_check *check)
{
    const struct conversion *c = hc_check_case(check)->data;
    hc_sweep_from_fp32(check, c->to, c->direction);
}

static const struct conversion conversions[] = {
    {HC_FP16, HC_NEAREST}, {HC_FP16, HC_TOWARD_ZERO}, {HC_FP16, HC_UPWARD}, {HC_FP16, HC_DOWNWARD},
    {HC_BF16, HC_NEAREST}, {HC_BF16, HC_TOWARD_ZERO}, {HC_BF16, HC_UPWARD}, {HC_BF16, HC_DOWNWARD},
};

static const char source[] = "IEEE 754-2019, 4.3 and 5.4.2";

static const struct hc_case cases[] = {
    {"rounding/fp32-to-fp16/nearest", "fp32 to fp16 is correctly rounded to nearest, ties to even",
     source, .run = from_fp32, .data = &conversions[0]},
    {"rounding/fp32-to-fp16/toward-zero", "fp32 to fp16 is correctly rounded toward zero", source,
     .run = from_fp32, .data = &conversions[1]},
    {"rounding/fp32-to-fp16/upward", "fp32 to fp16 is correctly rounded upward", source,
     .run = from_fp32, .data = &conversions[2]},
    {"rounding/fp32-to-fp16/downward", "fp32 to fp16 is correctly rounded downward", source,
     .run = from_fp32, .data = &conversions[3]},
    {"rounding/fp32-to-bf16/nearest", "fp32 to bf16 is correctly rounded to nearest, ties to even",
     source, .run = from_fp32, .data = &conversions[4]},
    {"rounding/fp32-to-bf16/toward-zero", "fp32 to bf16 is correctly rounded toward zero", source,
     .run = from_fp32, .data = &conversions[5]},
    {"rounding/fp32-to-bf16/upward", "fp32 to bf16 is correctly rounded upward", source,
     .run = from_fp32, .data = &conversions[6]},
    {"rounding/fp32-to-bf16/downward", "fp32 to bf16 is correctly rounded downward", source,
     .run = from_fp32, .data = &conversions[7]},
};

HC_CASES(rounding_conversions, cases);
