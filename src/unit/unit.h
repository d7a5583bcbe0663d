/* Matrix units: what one instruction of a GPU's or CPU's unit does to a sum of products and C, to
   the bit. A unit is plain data, and hc_unit_dot reads nothing else.

   An instruction takes k products and one C. Its rule says how they become D; the fields below say
   with how many bits. Longer sums chain instructions: D of one is C of the next. */
#ifndef HC_UNIT_UNIT_H
#define HC_UNIT_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "num/format.h"

/* The encodings that a matrix unit's operands, accumulators and scales have, as plain data. They
   are more than the formats of tensors (num/format.h), and a decoded value keeps its significand,
   since units align products that are not normalized. */

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

/* In each rule the k products of an instruction are taken in pieces of `piece`, in their order; the
   result of one piece is C of the next. A product is exact unless the rule says otherwise: its
   significand is the product of the two, in [1, 4) for normal operands, and its exponent is the sum
   of the two (and of the scales' exponents); it is not normalized. */
enum hc_unit_rule {
    /* NVIDIA. The products of a piece and C are aligned at the largest of their exponents, each is
       cut to `fraction` bits there, and their sum is exact and becomes D. */
    HC_UNIT_FUSED,
    /* NVIDIA's mxf4 and nvf4. The products of each `group` are summed exactly and multiplied with
       the significands of the group's two scales; the group's exponent is the sum of the scales'.
       These sums and C are then aligned and cut as above. */
    HC_UNIT_GROUPED,
    /* AMD MI100. The exact sum of a piece and C is rounded once. */
    HC_UNIT_EXACT,
    /* AMD MI200. Each product is rounded, p0 + p1 and p2 + p3 are, then the sum of these where a
       piece has four, then that with C. */
    HC_UNIT_PAIRWISE,
    /* AMD MI300. The products of a piece are aligned at their largest exponent, cut to `fraction`
       bits, and summed. The sum and C are aligned at the larger of the two exponents E: the sum is
       floored to `floor_fraction` bits at E, C to `fraction` bits. Their sum is floored once more
       to `total_fraction` bits behind its own leading bit (or behind that of the smallest normal
       number, if it is smaller), where `total_fraction` is not 0, and becomes D. A
       product of 2^128 or more is infinite. */
    HC_UNIT_FLOORED,
    /* AMD MI300's fp8. The products of even and of odd index are summed apart, as above. The two
       sums are aligned at the larger of their exponents and floored to `fraction` bits. With C it
       goes on as above, but a C whose exponent is smaller than the sum's by more than `fraction`
       + 1 is left out. */
    HC_UNIT_FLOORED_HALVES,
    /* One fused multiply-add after another, the first with C; the last product first where
       `last_first`. */
    HC_UNIT_CHAIN,
    /* Intel AMX. Products of even and of odd index make a chain each, from +0; the two are added,
       rounded, and their sum is added to C, rounded. */
    HC_UNIT_TWO_CHAINS,
    /* Arm BFMMLA. For each pair of products: each is rounded, so is their sum, and so is that
       with C. */
    HC_UNIT_PAIR_THEN_C,
    HC_UNIT_RULE_COUNT
};

enum hc_unit_rounding {
    HC_ROUND_NEAREST, /* ties to even */
    HC_ROUND_CUT,     /* toward zero */
    HC_ROUND_FLOOR,   /* toward -infinity */
    HC_ROUND_ODD,     /* toward zero, and the last bit is set if anything was lost */
    HC_ROUND_COUNT
};

/* The exponent that a zero product brings into the alignment. */
enum hc_unit_zero {
    HC_ZERO_IGNORED, /* none */
    /* `zero_exponent`, whatever the other operand is. In HC_UNIT_GROUPED a group has it whose
       products are all zero or one of whose scales is. */
    HC_ZERO_FIXED,
    HC_ZERO_OPERAND /* A zero operand or scale has `zero_exponent`, and the product the sum. */
};

/* What becomes of operands and results below the smallest normal number. */
enum hc_unit_inputs {
    HC_INPUTS_KEPT,
    HC_INPUTS_SIGNED_ZERO,  /* Subnormal operands and C read as zeros of their sign. */
    HC_INPUTS_POSITIVE_ZERO /* They and -0 read as +0. */
};

enum hc_unit_underflow {
    HC_UNDERFLOW_GRADUAL,
    HC_UNDERFLOW_FLUSHED_AFTER, /* A result that is subnormal once rounded becomes a signed zero. */
    /* The result is rounded as if exponents had no end. If it is then below the smallest normal
       number it becomes a signed zero. */
    HC_UNDERFLOW_FLUSHED_UNBOUNDED
};

enum hc_unit_nans {
    HC_NANS_CANONICAL, /* Each NaN that comes out is `nan`. */
    HC_NANS_ANY,       /* The model fixes no payload and no sign. This project gives `nan`. */
    /* x86: the first NaN of a, b and the addend comes out quiet; what is invalid gives `nan`. */
    HC_NANS_FIRST
};

enum hc_unit_certainty {
    HC_CERTAINTY_MEASURED,  /* on hardware of this project's own machines */
    HC_CERTAINTY_PUBLISHED, /* a published model that its authors held against hardware */
    HC_CERTAINTY_DISPUTED,  /* Published models differ. The later one has the plain name. */
    HC_CERTAINTY_TEXT,      /* the vendor's text alone */
    HC_CERTAINTY_COUNT
};

/* Smaller than every exponent: what has it takes no part in an alignment. */
enum { HC_NO_EXPONENT = -100000 };

struct hc_unit {
    const char *name;        /* machine-operands-result, such as "h100wgmma-fp16-fp32" */
    const char *title;       /* the machine */
    const char *instruction; /* as the vendor writes it */
    enum hc_operand a, b, c, d;
    enum hc_operand scale; /* HC_OPERAND_NONE, or the encoding of the scales of a and of b */
    int block;             /* products with one scale */
    enum hc_unit_rule rule;
    int k;     /* products of an instruction */
    int piece; /* products that meet C together */
    int group; /* HC_UNIT_GROUPED: products that are summed exactly */
    int fraction;
    int floor_fraction;
    int total_fraction;
    enum hc_unit_rounding alignment; /* what happens to bits below `fraction` */
    enum hc_unit_rounding output;    /* how D, and each rounded step, is rounded */
    int output_fraction; /* bits of D's fraction that are kept: 23, 13 for E8M13, 10 for fp16 */
    enum hc_unit_zero zero;
    int zero_exponent;
    int zero_c_exponent; /* of a zero C in the alignment, or HC_NO_EXPONENT */
    bool c_normalized;   /* A subnormal C is normalized before it is aligned. */
    /* An infinite C comes out, though a product overflows to the other side. */
    bool infinite_c_wins;
    bool last_first;
    enum hc_unit_inputs inputs;
    enum hc_unit_underflow underflow;
    enum hc_unit_nans nans;
    uint32_t nan;
    enum hc_unit_certainty certainty;
    const char *source;
    const char *variant_of; /* NULL, or the unit of which this is an older published model */
};

extern const char *const hc_unit_rule_names[HC_UNIT_RULE_COUNT];
extern const char *const hc_unit_rounding_names[HC_ROUND_COUNT];
extern const char *const hc_unit_certainty_names[HC_CERTAINTY_COUNT];

/* All units: those with a plain name, and after each its older published model, if there is one,
   whose name ends in @ and the version. The array is static. */
const struct hc_unit *hc_units(int *n);

/* NULL if there is none of this name. */
const struct hc_unit *hc_unit_by_name(const char *name);

/* Scales of a and of b, one for each `block` products. */
struct hc_unit_scales {
    const uint32_t *a, *b;
};

/* D of the sum of n products a[i] b[i] and c: ceil(n / k) chained instructions, the last filled up
   with products of +0. All are codes in the unit's encodings; c is one in u->c, and what is chained
   one in u->d. With n = 0 there is no instruction, and c comes back, in u->d.

   `scales` holds ceil(n / block) codes a side. Where it is NULL, and for products beyond n, every
   scale is 1. It is NULL for a unit without scales. This is the plain statement in integers;
   kernels/sim has a faster engine with the same bits. */
uint32_t hc_unit_dot(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,
                     const struct hc_unit_scales *scales, int64_t n, uint32_t c);

/* Whether two codes in u->d are the same answer: they are equal, or both NaN where the unit's model
   fixes no NaN. */
bool hc_unit_same(const struct hc_unit *u, uint32_t want, uint32_t got);

#endif
