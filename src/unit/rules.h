/* One instruction of each rule, and what the rules share. */
#ifndef HC_UNIT_RULES_H
#define HC_UNIT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "unit/unit.h"

/* Exact sums, and their one rounding into a unit's result. */

/* (-1)^negative m 2^e. If `inexact`, the magnitude is larger, by less than 2^e; m then has 64 bits,
   so that what is missing lies below every bit that a result keeps. */
struct hc_unit_number {
    uint64_t m;
    int e;
    bool negative;
    bool inexact;
};

/* A sum of multiples of 2^HC_WIDE_LOWEST, in two's complement. It starts from all zeros. The
   smallest product is that of two subnormals of fp32, 2^-298; the largest are below 2^256, and the
   576 bits leave 18 above them for the sum and its sign. */
enum { HC_WIDE_WORDS = 9, HC_WIDE_LOWEST = -300 };

struct hc_unit_wide {
    uint64_t word[HC_WIDE_WORDS];
};

/* Adds (-1)^negative m 2^e. */
void hc_unit_wide_add(struct hc_unit_wide *sum, bool negative, uint64_t m, int e);
struct hc_unit_number hc_unit_wide_number(const struct hc_unit_wide *sum);

/* The bits of x below 2^quantum go, as `rounding` says: the multiple of 2^quantum, divided by it.
   It must fit. */
int64_t hc_unit_quantize(struct hc_unit_number x, int quantum, enum hc_unit_rounding rounding);

/* The position of the highest bit of m, which is not 0. */
int hc_unit_top(uint64_t m);

/* The code of x in u->d, rounded, limited and flushed as the unit does it. A zero keeps its sign.
   Beyond the largest finite number comes infinity, in every rounding. */
uint32_t hc_unit_round(const struct hc_unit *u, struct hc_unit_number x);

/* Infinity in u->d. */
uint32_t hc_unit_infinity(const struct hc_unit *u, bool negative);

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
