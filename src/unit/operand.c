#include "unit/operand.h"

#include <stddef.h>
#include <string.h>

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

static bool is_nan(const struct hc_operand_info *o, uint32_t field, uint32_t fraction,
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
    if (is_nan(o, field, fraction, v.negative))
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
