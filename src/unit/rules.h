/* One instruction of each rule, and what the rules share. */
#ifndef HC_UNIT_RULES_H
#define HC_UNIT_RULES_H

#include "unit/unit.h"

enum { HC_UNIT_MAX_K = 64 };

/* The operands of one instruction: k codes of a and of b, and a scale a side for each block. `c` is
   a code in `c_operand`: the unit's C at first, then its D. */
struct hc_unit_operands {
    const uint32_t *a, *b, *scale_a, *scale_b;
    enum hc_operand c_operand;
    uint32_t c;
};

typedef uint32_t hc_unit_instruction(const struct hc_unit *u, const struct hc_unit_operands *x);

hc_unit_instruction hc_unit_fused, hc_unit_grouped, hc_unit_exact, hc_unit_floored,
    hc_unit_floored_halves;
hc_unit_instruction hc_unit_pairwise, hc_unit_chain, hc_unit_two_chains, hc_unit_pair_then_c;

/* A product, a sum or C before it is aligned: (-1)^negative significand 2^(exponent - fraction). */
struct hc_unit_term {
    uint64_t significand;
    int fraction;
    int exponent;
    bool negative;
    enum hc_operand_class class_;
};

/* Product i of the instruction, with its scales. */
struct hc_unit_term hc_unit_product(const struct hc_unit *u, const struct hc_unit_operands *x,
                                    int i);
struct hc_unit_term hc_unit_c_term(const struct hc_unit *u, enum hc_operand operand, uint32_t c);

/* Whether n terms and C make an infinity or a NaN, and then which. */
bool hc_unit_special(const struct hc_unit *u, const struct hc_unit_term *terms, int n,
                     struct hc_unit_term c, uint32_t *d);

#endif
