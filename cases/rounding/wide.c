/* fp64 to 16 bits in one rounding: at every value of the target, at every tie, and right beside
   them. */
#include "case.h"

#include <math.h>

struct conversion {
    enum hc_format to;
    enum hc_direction direction;
};

enum { PLACES = 6 };

/* Between a value v of the target (code c) and the next one w (code c + 1), with m half way: what
   must be added to c for each place, to nearest, toward zero and away from it. At m itself the code
   to nearest is the even one. */
static const struct {
    int nearest;
    int zero;
    int away;
} steps[PLACES] = {
    {0, 0, 0},  /* v */
    {0, 0, 1},  /* the fp64 after v */
    {0, 0, 1},  /* the one before m */
    {-1, 0, 1}, /* m */
    {1, 0, 1},  /* the one after m */
    {1, 0, 1},  /* the one before w */
};

static void places_between(double v, double w, double places[PLACES])
{
    double m = v + (w - v) / 2;
    places[0] = v;
    places[1] = nextafter(v, w);
    places[2] = nextafter(m, v);
    places[3] = m;
    places[4] = nextafter(m, w);
    places[5] = nextafter(w, v);
}

static uint32_t code_at(int place, uint32_t c, enum hc_direction direction, bool negative)
{
    if (direction == HC_NEAREST)
        return c + (steps[place].nearest < 0 ? c & 1 : (uint32_t)steps[place].nearest);
    if (direction == (negative ? HC_DOWNWARD : HC_UPWARD))
        return c + (uint32_t)steps[place].away;
    return c + (uint32_t)steps[place].zero;
}

/* Beyond the largest value the next one is where it would be without a limit on the exponent; its
   code is that of infinity. */
static void from_fp64(struct hc_check *check)
{
    const struct conversion *conversion = hc_check_case(check)->data;
    enum hc_format to = conversion->to;
    uint32_t infinity = (uint32_t)hc_encode(to, (double)INFINITY, 0, HC_NEAREST);
    int64_t n = 2 * (int64_t)infinity * PLACES;
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = conversion->direction};
    call.in[0] = hc_check_vector(check, HC_FP64, n);
    call.out[0] = hc_check_vector(check, to, n);
    uint32_t *want = hc_check_memory(check, (size_t)n * sizeof *want);
    double *x = call.in[0].data;
    int64_t i = 0;
    for (int negative = 0; negative < 2; negative++)
        for (uint32_t c = 0; c < infinity; c++) {
            double v = hc_decode(to, c);
            double places[PLACES];
            places_between(v, v + hc_ulp(to, v), places);
            for (int k = 0; k < PLACES; k++, i++) {
                x[i] = negative ? -places[k] : places[k];
                want[i] =
                    (uint32_t)negative << 15 | code_at(k, c, conversion->direction, negative != 0);
            }
        }
    hc_claim_elements(check, &call, want);
}

static const double beyond[] = {
    65536, 1e300,     (double)INFINITY, -(double)INFINITY, (double)NAN,
    -0.0,  0x1p-1074, -0x1p-1074,       0x1p-1022,         0x1.fffffffffffffp1023,
};

/* Far outside: what fp32 cannot hold either. The three rows are the results for the target's
   largest value and infinity, its smallest value, and NaN. */
static void extremes(struct hc_check *check)
{
    const struct conversion *conversion = hc_check_case(check)->data;
    int64_t n = sizeof beyond / sizeof beyond[0];
    struct hc_call call = {.op = HC_OP_cast};
    call.in[0] = hc_check_vector(check, HC_FP64, n);
    call.out[0] = hc_check_vector(check, conversion->to, n);
    for (int64_t i = 0; i < n; i++)
        ((double *)call.in[0].data)[i] = beyond[i];
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
                      hc_tensor_bits(&call.out[0], i));
}

static void through_fp32(struct hc_check *check)
{
    struct hc_tensor x = hc_check_vector(check, HC_FP64, 1);
    struct hc_tensor h = hc_check_vector(check, HC_FP16, 1);
    struct hc_call call = {.op = HC_OP_cast, .in = {x}, .out = {h}};
    ((double *)x.data)[0] = 63343.99805;
    float narrow = (float)63343.99805;
    hc_say(check,
           "63343.99805 lies below 63344, the tie between 63328 (0x7bbb) and 63360 (0x7bbc)");
    hc_say(check, "through fp32 it becomes %.9g first, and the tie then goes to even: %.9g",
           (double)narrow, hc_round(HC_FP16, (double)narrow));
    if (hc_do(check, &call) == HC_OK)
        hc_claim_bits(check, "63343.99805 in fp16", HC_FP16, 0x7bbb, hc_tensor_bits(&h, 0));
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
    {"rounding/fp64-not-through-fp32",
     "63343.99805 is 63328 in fp16; through fp32 it would be 63360",
     "double rounding: Figueroa, When is double rounding innocuous?, 1995", .run = through_fp32},
};

const struct hc_case_table hc_cases_rounding_wide;
const struct hc_case_table hc_cases_rounding_wide = {cases, sizeof cases / sizeof cases[0]};
