/* Conversions between formats: from fp32 and from fp64 to 16 bits in one rounding, over all inputs
   at level exhaustive; from 16 bits to fp32, which lose nothing; and those of integers, which
   may. */
#include <math.h>

#include "case.h"

struct conversion {
    enum hc_format to;
    enum hc_direction direction;
};

static const struct conversion conversions[] = {
    {HC_FP16, HC_NEAREST}, {HC_FP16, HC_TOWARD_ZERO}, {HC_FP16, HC_UPWARD}, {HC_FP16, HC_DOWNWARD},
    {HC_BF16, HC_NEAREST}, {HC_BF16, HC_TOWARD_ZERO}, {HC_BF16, HC_UPWARD}, {HC_BF16, HC_DOWNWARD},
};

static void from_fp32(struct hc_check *check)
{
    const struct conversion *c = hc_check_case(check)->data;
    hc_sweep_from_fp32(check, c->to, c->direction);
}

static void from_fp64(struct hc_check *check)
{
    const struct conversion *c = hc_check_case(check)->data;
    hc_sweep_from_fp64(check, c->to, c->direction);
}

static const double beyond[] = {
    65536, 1e300,     (double)INFINITY, -(double)INFINITY, (double)NAN,
    -0.0,  0x1p-1074, -0x1p-1074,       0x1p-1022,         0x1.fffffffffffffp1023,
};

/* Far outside the range of fp32. The three rows are the results for the target's largest value and
   infinity, its smallest value, and NaN. */
static void extremes(struct hc_check *check)
{
    const struct conversion *conversion = hc_check_case(check)->data;
    int64_t n = sizeof beyond / sizeof beyond[0];
    struct hc_call call = {.op = HC_OP_cast};
    call.in[HC_X] = hc_check_vector(check, HC_FP64, n);
    call.out[HC_OUT] = hc_check_vector(check, conversion->to, n);
    for (int64_t i = 0; i < n; i++)
        ((double *)call.in[HC_X].data)[i] = beyond[i];
    if (hc_do(check, &call) != HC_OK)
        return;
    bool half = conversion->to == HC_FP16;
    uint16_t infinity = half ? 0x7c00 : 0x7f80;
    const uint16_t want[] = {half ? infinity : 0x4780,
                             infinity,
                             infinity,
                             infinity | 0x8000,
                             half ? 0x7e00 : 0x7fc0,
                             0x8000,
                             0,
                             0x8000,
                             0,
                             infinity};
    for (int64_t i = 0; i < n; i++)
        hc_claim_bits(check, "fp64 beyond the range", conversion->to, want[i],
                      hc_tensor_bits(&call.out[HC_OUT], i));
}

/* All 65,536 codes of fp16 or bf16 converted to fp32: hc_decode gives the value from the format's
   parameters, and fp32 holds it. */
static void widened(struct hc_check *check)
{
    const enum hc_format *from = hc_check_case(check)->data;
    struct hc_call call = {.op = HC_OP_cast};
    call.in[HC_X] = hc_check_vector(check, *from, 65536);
    call.out[HC_OUT] = hc_check_vector(check, HC_FP32, 65536);
    uint32_t *want = hc_check_memory(check, 65536 * sizeof *want);
    for (uint32_t code = 0; code < 65536; code++) {
        hc_tensor_set_bits(&call.in[HC_X], code, code);
        want[code] = hc_fp32_bits((float)hc_decode(*from, code));
    }
    hc_claim_elements(check, &call, want);
}

/* A cast to 16 bits and the cast back, one after the other, as fake quantization has it. A compiler
   that takes the pair for nothing gives x again. All codes but 0 are there, each with a number a
   quarter of an ulp above it, which rounds to it. */
static void there_and_back(struct hc_check *check)
{
    const enum hc_format *via = hc_check_case(check)->data;
    uint32_t codes = (*via == HC_FP16 ? 0x7c00 : 0x7f80) - 2;
    struct hc_call there = {.op = HC_OP_cast};
    struct hc_call back = {.op = HC_OP_cast};
    there.in[HC_X] = hc_check_vector(check, HC_FP32, codes);
    there.out[HC_OUT] = back.in[HC_X] = hc_check_vector(check, *via, codes);
    back.out[HC_OUT] = hc_check_vector(check, HC_FP32, codes);
    uint32_t *want = hc_check_memory(check, codes * sizeof *want);
    for (uint32_t i = 0; i < codes; i++) {
        double low = hc_decode(*via, i + 1);
        double ulp = hc_decode(*via, i + 2) - low;
        hc_tensor_set(&there.in[HC_X], i, low + ulp / 4);
        want[i] = hc_fp32_bits((float)low);
    }
    if (hc_do(check, &there) == HC_OK)
        hc_claim_elements(check, &back, want);
}

static void integers(struct hc_check *check)
{
    const enum hc_direction *direction = hc_check_case(check)->data;
    hc_sweep_from_i32(check, *direction);
}

static const enum hc_format formats[] = {HC_FP16, HC_BF16};

static const enum hc_direction directions[] = {HC_NEAREST, HC_TOWARD_ZERO, HC_UPWARD, HC_DOWNWARD};

static const char to_half[] = "IEEE 754-2019, 4.3 and 5.4.2";
static const char once[] = "IEEE 754-2019, 4.3 and 5.4.2: one rounding";
static const char exact[] = "IEEE 754-2019, 5.4.1 and 5.4.2";

static const struct hc_case cases[] = {
    {"rounding/fp32-to-fp16/nearest", "fp32 to fp16 is correctly rounded to nearest, ties to even",
     to_half, .run = from_fp32, .data = &conversions[0]},
    {"rounding/fp32-to-fp16/toward-zero", "fp32 to fp16 is correctly rounded toward zero", to_half,
     .run = from_fp32, .data = &conversions[1]},
    {"rounding/fp32-to-fp16/upward", "fp32 to fp16 is correctly rounded upward", to_half,
     .run = from_fp32, .data = &conversions[2]},
    {"rounding/fp32-to-fp16/downward", "fp32 to fp16 is correctly rounded downward", to_half,
     .run = from_fp32, .data = &conversions[3]},
    {"rounding/fp32-to-bf16/nearest", "fp32 to bf16 is correctly rounded to nearest, ties to even",
     to_half, .run = from_fp32, .data = &conversions[4]},
    {"rounding/fp32-to-bf16/toward-zero", "fp32 to bf16 is correctly rounded toward zero", to_half,
     .run = from_fp32, .data = &conversions[5]},
    {"rounding/fp32-to-bf16/upward", "fp32 to bf16 is correctly rounded upward", to_half,
     .run = from_fp32, .data = &conversions[6]},
    {"rounding/fp32-to-bf16/downward", "fp32 to bf16 is correctly rounded downward", to_half,
     .run = from_fp32, .data = &conversions[7]},
    {"rounding/fp64-to-fp16/nearest", "fp64 to fp16 rounds once at every tie, to nearest", once,
     .run = from_fp64, .data = &conversions[0]},
    {"rounding/fp64-to-fp16/toward-zero", "fp64 to fp16 rounds once, toward zero", once,
     .run = from_fp64, .data = &conversions[1]},
    {"rounding/fp64-to-fp16/upward", "fp64 to fp16 rounds once, upward", once, .run = from_fp64,
     .data = &conversions[2]},
    {"rounding/fp64-to-fp16/downward", "fp64 to fp16 rounds once, downward", once, .run = from_fp64,
     .data = &conversions[3]},
    {"rounding/fp64-to-bf16/nearest", "fp64 to bf16 rounds once at every tie, to nearest", once,
     .run = from_fp64, .data = &conversions[4]},
    {"rounding/fp64-to-bf16/toward-zero", "fp64 to bf16 rounds once, toward zero", once,
     .run = from_fp64, .data = &conversions[5]},
    {"rounding/fp64-to-bf16/upward", "fp64 to bf16 rounds once, upward", once, .run = from_fp64,
     .data = &conversions[6]},
    {"rounding/fp64-to-bf16/downward", "fp64 to bf16 rounds once, downward", once, .run = from_fp64,
     .data = &conversions[7]},
    {"rounding/fp64-extremes/fp16",
     "fp64 values far outside fp16's range go to infinity, 0 and NaN", once, .run = extremes,
     .data = &conversions[0]},
    {"rounding/fp64-extremes/bf16",
     "fp64 values far outside bf16's range go to infinity, 0 and NaN", once, .run = extremes,
     .data = &conversions[4]},
    {"rounding/fp16-to-fp32", "every fp16 value is the same value in fp32", exact, .run = widened,
     .data = &formats[0]},
    {"rounding/bf16-to-fp32", "every bf16 value is the same value in fp32", exact, .run = widened,
     .data = &formats[1]},
    {"rounding/there-and-back/fp16", "fp32 to fp16 and back is rounded, and not what went in",
     exact, .level = HC_STANDARD, .run = there_and_back, .data = &formats[0]},
    {"rounding/there-and-back/bf16", "fp32 to bf16 and back is rounded, and not what went in",
     exact, .level = HC_STANDARD, .run = there_and_back, .data = &formats[1]},
    {"rounding/i32-to-fp16/nearest", "every i32 rounds to the nearest fp16 value, ties to even",
     exact, .run = integers, .data = &directions[0]},
    {"rounding/i32-to-fp16/toward-zero", "every i32 rounds to fp16 toward zero", exact,
     .run = integers, .data = &directions[1]},
    {"rounding/i32-to-fp16/upward", "every i32 rounds to fp16 upward", exact, .run = integers,
     .data = &directions[2]},
    {"rounding/i32-to-fp16/downward", "every i32 rounds to fp16 downward", exact, .run = integers,
     .data = &directions[3]},
};

HC_CASES(rounding_conversions, cases);
