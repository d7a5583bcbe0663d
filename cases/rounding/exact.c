/* Conversions that lose nothing, and integers, which may. */
#include "case.h"

#include <math.h>

/* All 65,536 codes of fp16 or bf16 in fp32: hc_decode gives the value from the format's parameters,
   and fp32 holds it. */
static void widened(struct hc_check *check)
{
    const enum hc_format *from = hc_check_case(check)->data;
    struct hc_call call = {.op = HC_OP_cast};
    call.in[0] = hc_check_vector(check, *from, 65536);
    call.out[0] = hc_check_vector(check, HC_FP32, 65536);
    uint32_t *want = hc_check_memory(check, 65536 * sizeof *want);
    for (uint32_t code = 0; code < 65536; code++) {
        hc_tensor_put_bits(&call.in[0], code, code);
        want[code] = hc_fp32_bits((float)hc_decode(*from, code));
    }
    hc_claim_elements(check, &call, want);
}

/* An integer's fp16 code by integer arithmetic alone: 11 bits are kept, with the exponent that they
   then have; 1024 of them at exponent code 25 are the integer 1024. */
static uint32_t code_of(int64_t value, enum hc_direction direction)
{
    bool negative = value < 0;
    uint64_t n = (uint64_t)(negative ? -value : value);
    bool away = direction == (negative ? HC_DOWNWARD : HC_UPWARD);
    int top = 0;
    while (n >> top > 1)
        top++;
    if (n == 0)
        return 0;
    int cut = top - 10;
    uint64_t kept = cut > 0 ? n >> cut : n << -cut;
    uint64_t lost = cut > 0 ? n - (kept << cut) : 0;
    uint64_t half = cut > 0 ? (uint64_t)1 << cut >> 1 : 1;
    bool up = away && lost;
    if (direction == HC_NEAREST)
        up = lost > half || (lost == half && (kept & 1));
    uint32_t code = (uint32_t)(24 + cut) * 1024 + (uint32_t)kept + up;
    uint32_t most = away || direction == HC_NEAREST ? 0x7c00 : 0x7bff;
    return (uint32_t)negative << 15 | (code < most ? code : most);
}

enum { NEAR = 70000, SEEDED = 65536 };

/* All integers up to 70,000 on both sides, the ends of i32, and seeded ones of every length. */
static void integers(struct hc_check *check)
{
    const enum hc_direction *direction = hc_check_case(check)->data;
    int64_t n = 2 * NEAR + 1 + 2 + SEEDED;
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = *direction};
    call.in[0] = hc_check_vector(check, HC_I32, n);
    call.out[0] = hc_check_vector(check, HC_FP16, n);
    uint32_t *want = hc_check_memory(check, (size_t)n * sizeof *want);
    int32_t *x = call.in[0].data;
    int64_t i = 0;
    for (int32_t value = -NEAR; value <= NEAR; value++)
        x[i++] = value;
    x[i++] = INT32_MAX;
    x[i++] = INT32_MIN;
    for (uint64_t k = 0; k < SEEDED; k++)
        x[i++] = (int32_t)(uint32_t)hc_random(hc_check_seed(check), 0, k) >> (k % 32);
    for (i = 0; i < n; i++)
        want[i] = code_of(x[i], *direction);
    hc_say(check, "2049 lies half way between 2048 and 2050: fp16 has 11 bits; %s it is %g",
           hc_direction_names[*direction], hc_decode(HC_FP16, code_of(2049, *direction)));
    hc_claim_elements(check, &call, want);
}

static const enum hc_format formats[] = {HC_FP16, HC_BF16};

static const enum hc_direction directions[] = {HC_NEAREST, HC_TOWARD_ZERO, HC_UPWARD, HC_DOWNWARD};

static const char source[] = "IEEE 754-2019, 5.4.1 and 5.4.2";

static const struct hc_case cases[] = {
    {"rounding/fp16-to-fp32", "every fp16 value is the same value in fp32", source, .run = widened,
     .data = &formats[0]},
    {"rounding/bf16-to-fp32", "every bf16 value is the same value in fp32", source, .run = widened,
     .data = &formats[1]},
    {"rounding/i32-to-fp16/nearest", "integers round to the nearest fp16 value, ties to even",
     source, .run = integers, .data = &directions[0]},
    {"rounding/i32-to-fp16/toward-zero", "integers round to fp16 toward zero", source,
     .run = integers, .data = &directions[1]},
    {"rounding/i32-to-fp16/upward", "integers round to fp16 upward", source, .run = integers,
     .data = &directions[2]},
    {"rounding/i32-to-fp16/downward", "integers round to fp16 downward", source, .run = integers,
     .data = &directions[3]},
};

const struct hc_case_table hc_cases_rounding_exact;
const struct hc_case_table hc_cases_rounding_exact = {cases, sizeof cases / sizeof cases[0]};
