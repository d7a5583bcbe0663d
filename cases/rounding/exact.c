/* Conversions that lose nothing, and those of integers, which may. */
#include "case.h"

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

static void integers(struct hc_check *check)
{
    const enum hc_direction *direction = hc_check_case(check)->data;
    hc_sweep_from_i32(check, *direction);
}

static const enum hc_format formats[] = {HC_FP16, HC_BF16};

static const enum hc_direction directions[] = {HC_NEAREST, HC_TOWARD_ZERO, HC_UPWARD, HC_DOWNWARD};

static const char source[] = "IEEE 754-2019, 5.4.1 and 5.4.2";

static const struct hc_case cases[] = {
    {"rounding/fp16-to-fp32", "every fp16 value is the same value in fp32", source, .run = widened,
     .data = &formats[0]},
    {"rounding/bf16-to-fp32", "every bf16 value is the same value in fp32", source, .run = widened,
     .data = &formats[1]},
    {"rounding/i32-to-fp16/nearest", "every i32 rounds to the nearest fp16 value, ties to even",
     source, .run = integers, .data = &directions[0]},
    {"rounding/i32-to-fp16/toward-zero", "every i32 rounds to fp16 toward zero", source,
     .run = integers, .data = &directions[1]},
    {"rounding/i32-to-fp16/upward", "every i32 rounds to fp16 upward", source, .run = integers,
     .data = &directions[2]},
    {"rounding/i32-to-fp16/downward", "every i32 rounds to fp16 downward", source, .run = integers,
     .data = &directions[3]},
};

HC_CASES(rounding_exact, cases);
