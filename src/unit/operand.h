/* The encodings that a matrix unit's operands, accumulators and scales have, as plain data. They
   are more than the formats of tensors (num/format.h), and a decoded value keeps its significand,
   since units align products that are not normalized. */
#ifndef HC_UNIT_OPERAND_H
#define HC_UNIT_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "num/format.h"

enum hc_operand {
    HC_OPERAND_NONE, /* of a unit without scales */
    HC_OPERAND_FP32,
    HC_OPERAND_TF32, /* a whole fp32 word, whose low 13 bits the unit clears before it looks */
    HC_OPERAND_BF16,
    HC_OPERAND_FP16,
    HC_OPERAND_E4M3,
    HC_OPERAND_E5M2,
    HC_OPERAND_E4M3_FNUZ, /* AMD's fp8 */
    HC_OPERAND_E5M2_FNUZ, /* AMD's bf8 */
    HC_OPERAND_E2M3,
    HC_OPERAND_E3M2,
    HC_OPERAND_E2M1,
    HC_OPERAND_UE8M0, /* scales of mxf8f6f4 and mxf4: a power of two */
    HC_OPERAND_UE4M3, /* scales of nvf4: e4m3 whose sign bit is not looked at */
    HC_OPERAND_COUNT
};

/* Which codes are no numbers. */
enum hc_operand_specials {
    HC_SPECIALS_IEEE, /* the largest exponent field: infinity where the fraction is 0, else NaN */
    HC_SPECIALS_TOP,  /* all ones but the sign is NaN; there is no infinity */
    HC_SPECIALS_FNUZ, /* the sign bit alone is NaN; there is no infinity and no -0 */
    HC_SPECIALS_NONE
};

/* A code with exponent field x and fraction field f is (1 + f / 2^fraction) 2^(x - bias), or, where
   x is 0, (f / 2^fraction) 2^(1 - bias). UE8M0 has no subnormals: its 0 is 2^-127. */
struct hc_operand_info {
    const char *name;
    int bits;     /* of a code, with the sign */
    int exponent; /* bits of the exponent field */
    int fraction; /* bits of the fraction field */
    int bias;
    int cleared; /* low bits of the code that are cleared before anything else */
    bool sign;   /* Whether the top bit is a sign. It is ignored in UE4M3. */
    bool subnormal;
    enum hc_operand_specials specials;
};

extern const struct hc_operand_info hc_operands[HC_OPERAND_COUNT];

enum hc_operand_class { HC_CLASS_ZERO, HC_CLASS_FINITE, HC_CLASS_INFINITE, HC_CLASS_NAN };

/* The value of a code: (-1)^negative significand 2^(exponent - fraction), with the fraction of its
   encoding. A normal significand lies in [2^fraction, 2^(fraction + 1)); a subnormal one is
   smaller, at the exponent 1 - bias. A zero has that exponent too, and the significand 0. */
struct hc_operand_value {
    uint32_t significand;
    int exponent;
    bool negative;
    enum hc_operand_class class_;
};

struct hc_operand_value hc_operand_decode(enum hc_operand operand, uint32_t code);

/* The encoding of a tensor's format, or HC_OPERAND_NONE where no unit takes it. */
enum hc_operand hc_operand_of(enum hc_format format);

/* The encoding of this name, or HC_OPERAND_NONE. */
enum hc_operand hc_operand_by_name(const char *name);

#endif
