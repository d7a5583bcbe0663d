/* fp64 to 16 bits in one rounding. */
#include "case.h"

#include <math.h>

struct conversion {
    enum hc_format to;
    enum hc_direction direction;
};

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

static const struct conversion conversions[] = {
    {HC_FP16, HC_NEAREST}, {HC_FP16, HC_TOWARD_ZERO}, {HC_FP16, HC_UPWARD}, {HC_FP16, HC_DOWNWARD},
    {HC_BF16, HC_NEAREST}, {HC_BF16, HC_TOWARD_ZERO}, {HC_BF16, HC_UPWARD}, {HC_BF16, HC_DOWNWARD},
};

static const char source[] = "IEEE 754-2019, 4.3 and 5.4.2: one rounding";

static const struct hc_case cases[] = {
    {"rounding/fp64-to-fp16/nearest", "fp64 to fp16 rounds once at every tie, to nearest", source,
     .run = from_fp64, .data = &conversions[0]},
    {"rounding/fp64-to-fp16/toward-zero", "fp64 to fp16 rounds once, toward zero", source,
     .run = from_fp64, .data = &conversions[1]},
    {"rounding/fp64-to-fp16/upward", "fp64 to fp16 rounds once, upward", source, .run = from_fp64,
     .data = &conversions[2]},
    {"rounding/fp64-to-fp16/downward", "fp64 to fp16 rounds once, downward", source,
     .run = from_fp64, .data = &conversions[3]},
    {"rounding/fp64-to-bf16/nearest", "fp64 to bf16 rounds once at every tie, to nearest", source,
     .run = from_fp64, .data = &conversions[4]},
    {"rounding/fp64-to-bf16/toward-zero", "fp64 to bf16 rounds once, toward zero", source,
     .run = from_fp64, .data = &conversions[5]},
    {"rounding/fp64-to-bf16/upward", "fp64 to bf16 rounds once, upward", source, .run = from_fp64,
     .data = &conversions[6]},
    {"rounding/fp64-to-bf16/downward", "fp64 to bf16 rounds once, downward", source,
     .run = from_fp64, .data = &conversions[7]},
    {"rounding/fp64-extremes/fp16",
     "fp64 values far outside fp16's range go to infinity, 0 and NaN", source, .run = extremes,
     .data = &conversions[0]},
    {"rounding/fp64-extremes/bf16",
     "fp64 values far outside bf16's range go to infinity, 0 and NaN", source, .run = extremes,
     .data = &conversions[4]},
};

HC_CASES(rounding_wide, cases);
