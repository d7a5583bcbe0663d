/* Conversions into and from the formats of one byte and less, in which people train: from fp32 over
   all inputs at level exhaustive, from fp16 and bf16 over all inputs, and all codes back. */
#include <math.h>

#include "case.h"

struct conversion {
    enum hc_format to;
    bool saturate;
};

static void from_fp32(struct hc_check *check)
{
    const struct conversion *c = hc_check_case(check)->data;
    hc_sweep_into_byte(check, c->to, c->saturate);
}

static void from_16_bits(struct hc_check *check)
{
    const struct conversion *c = hc_check_case(check)->data;
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
     .run = from_fp32, .data = &(const struct conversion){(id), true}},                            \
        {"rounding/fp32-to-" name "/not-saturating",                                               \
         "fp32 to " name " is rounded to nearest before overflow is decided", (source),            \
         .run = from_fp32, .data = &(const struct conversion){(id), false}},                       \
        {"rounding/16-bits-to-" name "/saturating",                                                \
         "every fp16 and bf16 number rounds once into " name ", saturating", (source),             \
         .run = from_16_bits, .data = &(const struct conversion){(id), true}},                     \
    {                                                                                              \
        "rounding/16-bits-to-" name "/not-saturating",                                             \
            "every fp16 and bf16 number rounds once into " name, (source),                         \
            .run = from_16_bits, .data = &(const struct conversion)                                \
        {                                                                                          \
            (id), false                                                                            \
        }                                                                                          \
    }

static const struct hc_case cases[] = {
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
};

HC_CASES(rounding_bytes, cases);
