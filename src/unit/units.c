#include <stddef.h>
#include <string.h>

#include "unit/unit.h"

/* The formats of OCP's OFP8 and MX specifications, and AMD's FNUZ formats, whose bias is one more
   than that of IEEE's pattern. */
const struct hc_operand_info hc_operands[HC_OPERAND_COUNT] = {
    [HC_OPERAND_NONE] = {"none", 0, 0, 0, 0, 0, false, false, HC_SPECIALS_NONE},
    [HC_OPERAND_FP32] = {"fp32", 32, 8, 23, 127, 0, true, true, HC_SPECIALS_IEEE},
    [HC_OPERAND_TF32] = {"tf32", 32, 8, 23, 127, 13, true, true, HC_SPECIALS_IEEE},
    [HC_OPERAND_BF16] = {"bf16", 16, 8, 7, 127, 0, true, true, HC_SPECIALS_IEEE},
    [HC_OPERAND_FP16] = {"fp16", 16, 5, 10, 15, 0, true, true, HC_SPECIALS_IEEE},
    [HC_OPERAND_E4M3] = {"e4m3", 8, 4, 3, 7, 0, true, true, HC_SPECIALS_TOP},
    [HC_OPERAND_E5M2] = {"e5m2", 8, 5, 2, 15, 0, true, true, HC_SPECIALS_IEEE},
    [HC_OPERAND_E4M3_FNUZ] = {"e4m3fnuz", 8, 4, 3, 8, 0, true, true, HC_SPECIALS_FNUZ},
    [HC_OPERAND_E5M2_FNUZ] = {"e5m2fnuz", 8, 5, 2, 16, 0, true, true, HC_SPECIALS_FNUZ},
    [HC_OPERAND_E2M3] = {"e2m3", 6, 2, 3, 1, 0, true, true, HC_SPECIALS_NONE},
    [HC_OPERAND_E3M2] = {"e3m2", 6, 3, 2, 3, 0, true, true, HC_SPECIALS_NONE},
    [HC_OPERAND_E2M1] = {"e2m1", 4, 2, 1, 1, 0, true, true, HC_SPECIALS_NONE},
    [HC_OPERAND_UE8M0] = {"ue8m0", 8, 8, 0, 127, 0, false, false, HC_SPECIALS_TOP},
    [HC_OPERAND_UE4M3] = {"ue4m3", 8, 4, 3, 7, 0, false, true, HC_SPECIALS_TOP},
};

static uint32_t ones(int bits)
{
    return (uint32_t)((UINT64_C(1) << bits) - 1);
}

static bool is_operand_nan(const struct hc_operand_info *o, uint32_t field, uint32_t fraction,
                           bool negative)
{
    switch (o->specials) {
    case HC_SPECIALS_IEEE:
        return field == ones(o->exponent) && fraction != 0;
    case HC_SPECIALS_TOP:
        return field == ones(o->exponent) && fraction == ones(o->fraction);
    case HC_SPECIALS_FNUZ:
        return negative && field == 0 && fraction == 0;
    default:
        return false;
    }
}

struct hc_operand_value hc_operand_decode(enum hc_operand operand, uint32_t code)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    code &= ~ones(o->cleared);
    uint32_t fraction = code & ones(o->fraction);
    uint32_t field = code >> o->fraction & ones(o->exponent);
    bool hidden = field > 0 || !o->subnormal;
    struct hc_operand_value v = {
        .significand = fraction | (uint32_t)hidden << o->fraction,
        .exponent = (hidden ? (int)field : 1) - o->bias,
        .negative = o->sign && (code >> (o->bits - 1) & 1),
        .class_ = HC_CLASS_FINITE,
    };
    if (is_operand_nan(o, field, fraction, v.negative))
        v.class_ = HC_CLASS_NAN;
    else if (o->specials == HC_SPECIALS_IEEE && field == ones(o->exponent))
        v.class_ = HC_CLASS_INFINITE;
    else if (v.significand == 0)
        v.class_ = HC_CLASS_ZERO;
    return v;
}

enum hc_operand hc_operand_of(enum hc_format format)
{
    static const enum hc_operand operands[HC_FORMAT_COUNT] = {
        [HC_FP32] = HC_OPERAND_FP32,          [HC_TF32] = HC_OPERAND_TF32,
        [HC_BF16] = HC_OPERAND_BF16,          [HC_FP16] = HC_OPERAND_FP16,
        [HC_E4M3] = HC_OPERAND_E4M3,          [HC_E5M2] = HC_OPERAND_E5M2,
        [HC_E4M3FNUZ] = HC_OPERAND_E4M3_FNUZ, [HC_E5M2FNUZ] = HC_OPERAND_E5M2_FNUZ,
        [HC_E2M3] = HC_OPERAND_E2M3,          [HC_E3M2] = HC_OPERAND_E3M2,
        [HC_E2M1] = HC_OPERAND_E2M1,          [HC_E8M0] = HC_OPERAND_UE8M0,
        [HC_UE4M3] = HC_OPERAND_UE4M3,
    };
    return operands[format];
}

enum hc_operand hc_operand_by_name(const char *name)
{
    for (int i = HC_OPERAND_NONE + 1; i < HC_OPERAND_COUNT; i++)
        if (strcmp(hc_operands[i].name, name) == 0)
            return (enum hc_operand)i;
    return HC_OPERAND_NONE;
}

/* The table of units. */

const char *const hc_unit_rule_names[HC_UNIT_RULE_COUNT] = {
    [HC_UNIT_FUSED] = "fused",
    [HC_UNIT_GROUPED] = "grouped",
    [HC_UNIT_EXACT] = "exact, rounded once",
    [HC_UNIT_PAIRWISE] = "pairwise",
    [HC_UNIT_FLOORED] = "floored",
    [HC_UNIT_FLOORED_HALVES] = "floored halves",
    [HC_UNIT_CHAIN] = "chain of fma",
    [HC_UNIT_TWO_CHAINS] = "two chains of fma",
    [HC_UNIT_PAIR_THEN_C] = "pair, then C",
};

const char *const hc_unit_rounding_names[HC_ROUND_COUNT] = {
    [HC_ROUND_NEAREST] = "nearest",
    [HC_ROUND_CUT] = "toward zero",
    [HC_ROUND_FLOOR] = "floor",
    [HC_ROUND_ODD] = "odd",
};

const char *const hc_unit_certainty_names[HC_CERTAINTY_COUNT] = {
    [HC_CERTAINTY_MEASURED] = "measured",
    [HC_CERTAINTY_PUBLISHED] = "published",
    [HC_CERTAINTY_DISPUTED] = "disputed",
    [HC_CERTAINTY_TEXT] = "text",
};

#define V100 "NVIDIA V100 (Volta) mma.sync"

#define T4 "NVIDIA T4 (Turing) mma.sync"

#define A100 "NVIDIA A100 (Ampere) mma.sync"

#define ADA "NVIDIA RTX 4090 (Ada) mma.sync"

#define H100 "NVIDIA H100 (Hopper) mma.sync"

#define H100_WGMMA "NVIDIA H100 (Hopper) wgmma"

#define B200 "NVIDIA B200 (Blackwell) tcgen05.mma"

#define B200_MMA "NVIDIA B200 (Blackwell) mma.sync"

#define RTX_BLACKWELL "NVIDIA RTX Blackwell mma.sync"

#define CDNA1 "AMD MI100 (CDNA1) mfma"

#define CDNA2 "AMD MI250X (CDNA2) mfma"

#define CDNA3 "AMD MI300X (CDNA3) mfma"

#define LATER "MMA-Sim 2.1.1"
#define OLDER "MMA-Sim c785138"

#define BOTH "MMA-Sim c785138 and 2.1.1"

/* The two published versions: the later one has the plain name, the older one a name of its own. */
#define LATER_OF(n) .name = (n), .source = LATER, .certainty = HC_CERTAINTY_DISPUTED
#define OLDER_OF(n)                                                                                \
    .name = n "@c785138", .source = OLDER, .certainty = HC_CERTAINTY_DISPUTED, .variant_of = (n)
#define LATER_ONLY(n) .name = (n), .source = LATER, .certainty = HC_CERTAINTY_PUBLISHED

#define BOTH_OF(n) .name = (n), .source = BOTH, .certainty = HC_CERTAINTY_PUBLISHED

#define FIXED_ZERO(e) .zero = HC_ZERO_FIXED, .zero_exponent = (e), .zero_c_exponent = (e)

#define OPERAND_ZERO .zero = HC_ZERO_OPERAND, .zero_exponent = -126, .zero_c_exponent = -126

#define SAME_C(x) .c = HC_OPERAND_##x, .d = HC_OPERAND_##x

#define OF(x, y) .a = HC_OPERAND_##x, .b = HC_OPERAND_##y

/* NVIDIA: fp32 is cut, fp16 rounded, and every NaN is the one with all bits set but the sign. */
#define D_FP32 .output = HC_ROUND_CUT, .nan = 0x7fffffff
#define D_FP16 .output = HC_ROUND_NEAREST, .nan = 0x7fff

#define FUSED(m, i, a, b, d, n, p, f, o)                                                           \
    .title = (m), .instruction = (i), OF(a, b), SAME_C(d), .rule = HC_UNIT_FUSED, .k = (n),        \
    .piece = (p), .fraction = (f), .alignment = HC_ROUND_CUT, .output_fraction = (o), D_##d
#define HC_FUSED(name, m, i, a, b, d, n, p, f, o, e)                                               \
    {LATER_OF(name), FUSED(m, i, a, b, d, n, p, f, o), FIXED_ZERO(e)},                             \
        {OLDER_OF(name), FUSED(m, i, a, b, d, n, p, f, o), OPERAND_ZERO},
#define HC_FUSED_LATER(name, m, i, a, b, d, n, p, f, o, e)                                         \
    {LATER_ONLY(name), FUSED(m, i, a, b, d, n, p, f, o), FIXED_ZERO(e)},

#define SCALED(m, i, a, b)                                                                         \
    FUSED(m, i, a, b, FP32, 32, 32, 25, 23), .scale = HC_OPERAND_UE8M0, .block = 32
#define HC_SCALED(name, m, i, a, b)                                                                \
    {LATER_OF(name), SCALED(m, i, a, b), FIXED_ZERO(-133)},                                        \
        {OLDER_OF(name), SCALED(m, i, a, b), OPERAND_ZERO},
#define HC_SCALED_LATER(name, m, i, a, b) {LATER_ONLY(name), SCALED(m, i, a, b), FIXED_ZERO(-133)},

#define GROUPED(m, i, s, n)                                                                        \
    .title = (m), .instruction = (i), OF(E2M1, E2M1), SAME_C(FP32), .scale = HC_OPERAND_##s,       \
    .block = (n), .rule = HC_UNIT_GROUPED, .k = 64, .piece = 64, .group = 16, .fraction = 35,      \
    .alignment = HC_ROUND_CUT, .output_fraction = 23, D_FP32
#define HC_GROUPED(name, m, i, s, n)                                                               \
    {LATER_OF(name), GROUPED(m, i, s, n), FIXED_ZERO(-139)},                                       \
        {OLDER_OF(name), GROUPED(m, i, s, n), OPERAND_ZERO},

/* AMD: D is rounded to nearest, and the models fix no NaN. */
#define AMD(m, i, x, y, r, n, p)                                                                   \
    .title = (m), .instruction = (i), OF(x, y), SAME_C(FP32), .rule = HC_UNIT_##r, .k = (n),       \
    .piece = (p), .output = HC_ROUND_NEAREST, .output_fraction = 23, .nans = HC_NANS_ANY,          \
    .nan = 0x7fc00000
#define HC_CHAIN(name_, m, i)                                                                      \
    {.name = (name_),                                                                              \
     .source = OLDER,                                                                              \
     .certainty = HC_CERTAINTY_PUBLISHED,                                                          \
     AMD(m, i, FP32, FP32, CHAIN, 4, 1)},
#define HC_CDNA1(name, i, x, n, p)                                                                 \
    {LATER_OF(name), AMD(CDNA1, i, x, x, EXACT, n, p)},                                            \
        {OLDER_OF(name), AMD(CDNA1, i, x, x, PAIRWISE, n, p)},
#define HC_CDNA2(name, i, x, n, p)                                                                 \
    {BOTH_OF(name), AMD(CDNA2, i, x, x, PAIRWISE, n, p), .inputs = HC_INPUTS_POSITIVE_ZERO,        \
     .underflow = HC_UNDERFLOW_FLUSHED_AFTER},
#define CDNA3_AT(i, x, y, r, n, p)                                                                 \
    AMD(CDNA3, i, x, y, r, n, p), .fraction = 24, .alignment = HC_ROUND_CUT
#define HC_CDNA3(name, i, x, y, r, n, p)                                                           \
    {LATER_OF(name),       CDNA3_AT(i, x, y, r, n, p), .floor_fraction = 32,                       \
     .total_fraction = 31, .zero = HC_ZERO_IGNORED,    .zero_c_exponent = -126},                   \
        {OLDER_OF(name), CDNA3_AT(i, x, y, r, n, p), .floor_fraction = 31, OPERAND_ZERO,           \
         .infinite_c_wins = true},

/* x86: subnormal operands and C are zeros, and what underflows once rounded is one. */
#define X86                                                                                        \
    .output = HC_ROUND_NEAREST, .output_fraction = 23, .inputs = HC_INPUTS_SIGNED_ZERO,            \
    .underflow = HC_UNDERFLOW_FLUSHED_UNBOUNDED, .nans = HC_NANS_FIRST, .nan = 0xffc00000

#define V100_FP16C16                                                                               \
    .title = V100, .instruction = "m8n8k4.f32.f16.f16.f16", OF(FP16, FP16), .c = HC_OPERAND_FP16,  \
    .d = HC_OPERAND_FP32, .rule = HC_UNIT_FUSED, .k = 4, .piece = 4, .fraction = 23,               \
    .alignment = HC_ROUND_CUT, .output_fraction = 23, D_FP32

static const struct hc_unit units[] = {
#include "unit/nvidia.def"
    /* Volta's instruction on Turing, whose parameters the two versions do not share. */
    {LATER_OF("t4-fp16k4-fp32"),
     FUSED(T4, "m8n8k4.f32.f16.f16.f32", FP16, FP16, FP32, 4, 4, 23, 23), FIXED_ZERO(-131)},
    {OLDER_OF("t4-fp16k4-fp32"),
     FUSED(T4, "m8n8k4.f32.f16.f16.f32", FP16, FP16, FP32, 4, 4, 24, 23), OPERAND_ZERO},
    /* C in fp16 with D in fp32, where the older version widens C, and so normalizes it, first. */
    {LATER_OF("v100-fp16c16-fp32"), V100_FP16C16, FIXED_ZERO(-131)},
    {OLDER_OF("v100-fp16c16-fp32"), V100_FP16C16, OPERAND_ZERO, .c_normalized = true},
#include "unit/amd.def"
    {.name = "avx512bf16-bf16-fp32",
     .title = "x86 AVX512_BF16",
     .instruction = "vdpbf16ps",
     .source = "measured on an AMD EPYC (family 26) and an Intel Xeon; Intel's SDM",
     .certainty = HC_CERTAINTY_MEASURED,
     OF(BF16, BF16),
     SAME_C(FP32),
     .rule = HC_UNIT_CHAIN,
     .k = 2,
     .piece = 1,
     .last_first = true,
     X86},
    {.name = "amx-bf16-fp32",
     .title = "Intel AMX-BF16",
     .instruction = "tdpbf16ps",
     .source = "measured on an Intel Xeon (Sapphire Rapids); Intel's SDM",
     .certainty = HC_CERTAINTY_MEASURED,
     OF(BF16, BF16),
     SAME_C(FP32),
     .rule = HC_UNIT_TWO_CHAINS,
     .k = 32,
     .piece = 32,
     X86},
    {.name = "bfmmla-bf16-fp32",
     .title = "Arm BF16, FPCR.EBF = 0",
     .instruction = "bfmmla",
     .source = "Arm A64 instruction set (BFMMLA, BFDotAdd)",
     .certainty = HC_CERTAINTY_TEXT,
     OF(BF16, BF16),
     SAME_C(FP32),
     .rule = HC_UNIT_PAIR_THEN_C,
     .k = 4,
     .piece = 2,
     .output = HC_ROUND_ODD,
     .output_fraction = 23,
     .inputs = HC_INPUTS_SIGNED_ZERO,
     .underflow = HC_UNDERFLOW_FLUSHED_UNBOUNDED,
     .nan = 0x7fc00000},
};

const struct hc_unit *hc_units(int *n)
{
    *n = (int)(sizeof units / sizeof *units);
    return units;
}

const struct hc_unit *hc_unit_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}
