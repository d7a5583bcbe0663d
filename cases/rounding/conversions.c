/* Conversions between formats, over all inputs where that can be had. */
#include <math.h>
#include <stdio.h>

#include "case.h"

/* Conversions between formats: from fp32 and from fp64 to 16 bits in one rounding, over all inputs
   at level exhaustive; from 16 bits to fp32, which lose nothing; and those of integers, which
   may. */

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

/* Conversions into and from the formats of one byte and less, in which people train: from fp32 over
   all inputs at level exhaustive, from fp16 and bf16 over all inputs, and all codes back. */

struct conversion_bytes {
    enum hc_format to;
    bool saturate;
};

static void from_fp32_bytes(struct hc_check *check)
{
    const struct conversion_bytes *c = hc_check_case(check)->data;
    hc_sweep_into_byte(check, c->to, c->saturate);
}

static void from_16_bits(struct hc_check *check)
{
    const struct conversion_bytes *c = hc_check_case(check)->data;
    hc_sweep_16_bits_into_byte(check, c->to, c->saturate);
}

/* The formats once more, from their texts: OCP OFP8 1.0, OCP MX 1.0, AMD's CDNA 3 ISA. */
struct layout {
    enum hc_format format;
    int exponent; /* bits of the exponent field */
    int fraction;
    int bias;
    int infinity; /* the code of infinity; -1: none */
    int nan;      /* codes from this one on are NaN, without their sign; -1: none */
};

static const struct layout layouts[] = {
    {HC_E4M3, 4, 3, 7, -1, 0x7f},   {HC_E5M2, 5, 2, 15, 0x7c, 0x7d},
    {HC_E4M3FNUZ, 4, 3, 8, -1, -1}, {HC_E5M2FNUZ, 5, 2, 16, -1, -1},
    {HC_E2M3, 2, 3, 1, -1, -1},     {HC_E3M2, 3, 2, 3, -1, -1},
    {HC_E2M1, 2, 1, 1, -1, -1},     {HC_UE4M3, 4, 3, 7, -1, 0x7f},
    {HC_E8M0, 8, 0, 127, -1, 0xff},
};

static double value_of(const struct layout *l, int code)
{
    bool fnuz = l->format == HC_E4M3FNUZ || l->format == HC_E5M2FNUZ;
    int sign_at = l->exponent + l->fraction;
    int magnitude = code & ((1 << sign_at) - 1);
    int field = magnitude >> l->fraction;
    int fraction = magnitude & ((1 << l->fraction) - 1);
    double unit = ldexp(1, 1 - l->bias - l->fraction); /* of the subnormal numbers */
    double x =
        field == 0 ? fraction * unit : ((1 << l->fraction) + fraction) * ldexp(unit, field - 1);
    if (l->format == HC_E8M0)
        x = ldexp(1, code - l->bias);
    if ((fnuz && code == 1 << sign_at) || (l->nan >= 0 && magnitude >= l->nan))
        return (double)NAN;
    if (magnitude == l->infinity)
        x = (double)INFINITY;
    return code >> sign_at & 1 && l->format != HC_UE4M3 && l->format != HC_E8M0 ? -x : x;
}

/* Every code becomes the number that it stands for in fp32, and the one nearest to it in bf16 and
   fp16, which hold it but for the ends of e8m0 in fp16. */
static void decoded(struct hc_check *check)
{
    static const enum hc_format wide[] = {HC_FP32, HC_BF16, HC_FP16};
    const struct layout *l = hc_check_case(check)->data;
    int codes = 1 << hc_formats[l->format].bits;
    for (int w = 0; w < 3; w++) {
        struct hc_call call = {.op = HC_OP_cast};
        call.in[HC_X] = hc_check_vector(check, l->format, codes);
        call.out[HC_OUT] = hc_check_vector(check, wide[w], codes);
        uint32_t *want = hc_check_memory(check, (size_t)codes * sizeof *want);
        for (int code = 0; code < codes; code++) {
            hc_tensor_set_bits(&call.in[HC_X], code, (uint64_t)code);
            want[code] = (uint32_t)hc_encode(wide[w], value_of(l, code), 0, HC_NEAREST);
        }
        hc_claim_elements(check, &call, want);
    }
}

static const char ocp8[] = "OCP OFP8 1.0; CUDA's cuda_fp8.h";
static const char fnuz[] = "AMD CDNA 3 ISA; LLVM's APFloat, Float8E4M3FNUZ";
static const char mx[] = "OCP MX 1.0; CUDA's cuda_fp6.h and cuda_fp4.h";
static const char scales[] = "OCP MX 1.0; NVIDIA's NVFP4: scales of blocks";

/* The rows of a format. What has no NaN and no infinity saturates in both. */
#define BOTH(id, name, source)                                                                     \
    {"rounding/fp32-to-" name "/saturating",                                                       \
     "fp32 to " name " is rounded to nearest, and ends at the largest number", (source),           \
     .run = from_fp32_bytes, .data = &(const struct conversion_bytes){(id), true}},                \
        {"rounding/fp32-to-" name "/not-saturating",                                               \
         "fp32 to " name " is rounded to nearest before overflow is decided", (source),            \
         .run = from_fp32_bytes, .data = &(const struct conversion_bytes){(id), false}},           \
        {"rounding/16-bits-to-" name "/saturating",                                                \
         "every fp16 and bf16 number rounds once into " name ", saturating", (source),             \
         .run = from_16_bits, .data = &(const struct conversion_bytes){(id), true}},               \
    {                                                                                              \
        "rounding/16-bits-to-" name "/not-saturating",                                             \
            "every fp16 and bf16 number rounds once into " name, (source),                         \
            .run = from_16_bits, .data = &(const struct conversion_bytes)                          \
        {                                                                                          \
            (id), false                                                                            \
        }                                                                                          \
    }

/* The numbers of half precision that everybody should know, on the backend's own conversion. */

/* An input, its fp16 value, and what is worth knowing about it. */
struct row {
    const char *input; /* decimal */
    uint16_t want;
    const char *why;
};

struct claim {
    enum hc_format from;
    const struct row *rows;
    int count;
};

/* Each row's expectation must be what MPFR and the backend make of the input as it is written. */
static void thresholds(struct hc_check *check)
{
    const struct claim *claim = hc_check_case(check)->data;
    struct hc_tensor x = hc_check_vector(check, claim->from, claim->count);
    struct hc_tensor h = hc_check_vector(check, HC_FP16, claim->count);
    struct hc_call call = {.op = HC_OP_cast, .in = {[HC_X] = x}, .out = {[HC_OUT] = h}};
    struct hc_real *real = hc_real_new(0);
    for (int i = 0; i < claim->count; i++) {
        hc_real_set_text(real, claim->rows[i].input);
        hc_tensor_set_bits(&x, i, hc_real_bits(real, claim->from, HC_NEAREST));
    }
    enum hc_status status = hc_do(check, &call);
    for (int i = 0; i < claim->count && status == HC_OK; i++) {
        const struct row *row = &claim->rows[i];
        hc_real_set_text(real, row->input);
        hc_say(check, "%-13s %s", row->input, row->why);
        char what[48];
        (void)snprintf(what, sizeof what, "%s by MPFR", row->input);
        hc_claim_bits(check, what, HC_FP16, row->want, hc_real_bits(real, HC_FP16, HC_NEAREST));
        (void)snprintf(what, sizeof what, "%s by the backend", row->input);
        hc_claim_bits(check, what, HC_FP16, row->want, hc_tensor_bits(&h, i));
    }
    hc_real_free(real);
}

static const struct row after_one[] = {
    {"1", 0x3c00, "ten bits of fraction follow the leading 1"},
    {"1.0000000002", 0x3c00, "1 + 2e-10, as the notebook has it, is 1"},
    {"1.00048828125", 0x3c00, "1 + 2^-11 is the tie, and goes to the even 1"},
    {"1.0004883", 0x3c01, "just above the tie"},
    {"1.0009765625", 0x3c01, "1 + 2^-10, the next value: 1.0005 is not one"},
    {"1.001953125", 0x3c02, "1 + 2^-9, the one after it"},
};

static const struct row overflow[] = {
    {"65504", 0x7bff, "the largest value, (2 - 2^-10) 2^15"},
    {"65519", 0x7bff, "below the middle between 65504 and 65536"},
    {"65519.996", 0x7bff, "the last fp32 value below the middle"},
    {"65520", 0x7c00, "the middle: to even, which is 2^16, which is infinity"},
    {"-65519", 0xfbff, "the same on the negative side"},
    {"-65520", 0xfc00, "the same on the negative side"},
};

static const struct row underflow[] = {
    {"5.9604644775390625e-8", 0x0001, "2^-24, the smallest subnormal"},
    {"2.98023223876953125e-8", 0x0000, "2^-25, half of it: a tie, to the even 0"},
    {"2.9802326e-8", 0x0001, "the next fp32 value above half of it"},
    {"2.9802320612e-8", 0x0000, "the one below"},
    {"-2.98023223876953125e-8", 0x8000, "a zero keeps the sign of what it came from"},
    {"8.94069671630859375e-8", 0x0002, "one and a half: a tie, to the even 2"},
    {"6.0975551605224609375e-5", 0x03ff, "the largest subnormal, below 2^-14 by one step"},
    {"6.10053539276123046875e-5", 0x0400, "half a step below 2^-14: a tie, to the even 2^-14"},
};

static const struct row wide[] = {
    {"63343.99805", 0x7bbb, "63328: below the middle 63344; in fp32 it is the middle"},
    {"63344", 0x7bbc, "the middle between 63328 and 63360, to even"},
    {"63344.00195", 0x7bbc, "above it"},
};

enum { AFTER_ONE, OVERFLOW, UNDERFLOW, WIDE };

static const struct claim claims[] = {
    [AFTER_ONE] = {HC_FP64, after_one, sizeof after_one / sizeof after_one[0]},
    [OVERFLOW] = {HC_FP32, overflow, sizeof overflow / sizeof overflow[0]},
    [UNDERFLOW] = {HC_FP32, underflow, sizeof underflow / sizeof underflow[0]},
    [WIDE] = {HC_FP64, wide, sizeof wide / sizeof wide[0]},
};

/* The judge of sweeps on a device is correct itself: on the host it is compared with
   check/sweep/breakpoints.h and check/sweep/pairs.h, which MPFR proves. */

struct judged {
    enum hc_op op;
    enum hc_format to;
    enum hc_direction direction;
};

static void judge(struct hc_check *check)
{
    const struct judged *j = hc_check_case(check)->data;
    hc_claim_judge(check, j->op, j->to, j->direction);
}

/* One list for the operands and the cases. */
#define JUDGED                                                                                     \
    ROW("fp32-to-fp16/nearest", HC_OP_cast, HC_FP16, HC_NEAREST)                                   \
    ROW("fp32-to-fp16/toward-zero", HC_OP_cast, HC_FP16, HC_TOWARD_ZERO)                           \
    ROW("fp32-to-fp16/upward", HC_OP_cast, HC_FP16, HC_UPWARD)                                     \
    ROW("fp32-to-fp16/downward", HC_OP_cast, HC_FP16, HC_DOWNWARD)                                 \
    ROW("fp32-to-bf16/nearest", HC_OP_cast, HC_BF16, HC_NEAREST)                                   \
    ROW("fp32-to-bf16/toward-zero", HC_OP_cast, HC_BF16, HC_TOWARD_ZERO)                           \
    ROW("fp32-to-bf16/upward", HC_OP_cast, HC_BF16, HC_UPWARD)                                     \
    ROW("fp32-to-bf16/downward", HC_OP_cast, HC_BF16, HC_DOWNWARD)                                 \
    ROW("fp16/add", HC_OP_add, HC_FP16, HC_NEAREST)                                                \
    ROW("fp16/sub", HC_OP_sub, HC_FP16, HC_NEAREST)                                                \
    ROW("fp16/mul", HC_OP_mul, HC_FP16, HC_NEAREST)                                                \
    ROW("fp16/div", HC_OP_div, HC_FP16, HC_NEAREST)                                                \
    ROW("bf16/add", HC_OP_add, HC_BF16, HC_NEAREST)                                                \
    ROW("bf16/sub", HC_OP_sub, HC_BF16, HC_NEAREST)                                                \
    ROW("bf16/mul", HC_OP_mul, HC_BF16, HC_NEAREST)                                                \
    ROW("bf16/div", HC_OP_div, HC_BF16, HC_NEAREST)

#define ROW(name, op, to, direction)                                                               \
    {"rounding/judge/" name,                                                                       \
     "the judge of sweeps on a device demands the correctly rounded result",                       \
     "IEEE 754-2019, 4.3 and 5.4",                                                                 \
     .level = HC_STANDARD,                                                                         \
     .once = true,                                                                                 \
     .run = judge,                                                                                 \
     .data = &(const struct judged){op, to, direction}},

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
    BOTH(HC_E4M3, "e4m3", ocp8),
    BOTH(HC_E5M2, "e5m2", ocp8),
    BOTH(HC_E4M3FNUZ, "e4m3fnuz", fnuz),
    BOTH(HC_E5M2FNUZ, "e5m2fnuz", fnuz),
    BOTH(HC_E2M3, "e2m3", mx),
    BOTH(HC_E3M2, "e3m2", mx),
    BOTH(HC_E2M1, "e2m1", mx),
    BOTH(HC_E8M0, "e8m0", scales),
    BOTH(HC_UE4M3, "ue4m3", scales),
    {"rounding/e4m3-decoded", "each of the 256 codes of e4m3 is its number", ocp8, .run = decoded,
     .data = &layouts[0]},
    {"rounding/e5m2-decoded", "each of the 256 codes of e5m2 is its number", ocp8, .run = decoded,
     .data = &layouts[1]},
    {"rounding/e4m3fnuz-decoded", "each of the 256 codes of e4m3fnuz is its number", fnuz,
     .run = decoded, .data = &layouts[2]},
    {"rounding/e5m2fnuz-decoded", "each of the 256 codes of e5m2fnuz is its number", fnuz,
     .run = decoded, .data = &layouts[3]},
    {"rounding/e2m3-decoded", "each of the 64 codes of e2m3 is its number", mx, .run = decoded,
     .data = &layouts[4]},
    {"rounding/e3m2-decoded", "each of the 64 codes of e3m2 is its number", mx, .run = decoded,
     .data = &layouts[5]},
    {"rounding/e2m1-decoded", "each of the 16 codes of e2m1 is its number", mx, .run = decoded,
     .data = &layouts[6]},
    {"rounding/ue4m3-decoded", "each of the 128 codes of ue4m3 is its number", scales,
     .run = decoded, .data = &layouts[7]},
    {"rounding/e8m0-decoded", "each of the 256 codes of e8m0 is its power of two", scales,
     .run = decoded, .data = &layouts[8]},
    {"rounding/after-one", "after 1 come 1 + 2^-10 and 1 + 2^-9; 1 + 2e-10 is 1",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb writes 1+2e-10; IEEE 754-2019, "
     "binary16",
     .run = thresholds, .data = &claims[AFTER_ONE]},
    {"rounding/overflow-threshold", "65519 becomes 65504, 65520 becomes infinity",
     "IEEE 754-2019, 4.3.1", .run = thresholds, .data = &claims[OVERFLOW]},
    {"rounding/underflow-threshold", "2^-25 becomes 0, the next value above becomes 2^-24",
     "IEEE 754-2019, 4.3.1", .run = thresholds, .data = &claims[UNDERFLOW]},
    {"rounding/fp64-not-through-fp32",
     "63343.99805 is 63328 in fp16; by way of fp32 it would be 63360",
     "double rounding: Figueroa, When is double rounding innocuous?, 1995", .run = thresholds,
     .data = &claims[WIDE]},
    {"rounding/checker-power", "the sweeps catch each of eleven planted conversion defects",
     "TestFloat-3e level 1 misses four of them, level 2 two", .once = true,
     .run = hc_claim_sweeps_catch_faults},
    JUDGED};
#undef ROW

HC_CASES(rounding_conversions, cases);
