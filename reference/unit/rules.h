/* The rule of each kind of matrix unit, one function a rule: what an instruction, or one piece of
   it, makes of its products and of C. They are written from what is published of the units
   (docs/matrix-units.md), and know nothing of the engines that compute the same fast. */
#ifndef HC_REFERENCE_UNIT_RULES_H
#define HC_REFERENCE_UNIT_RULES_H

#include "reference/unit/number.h"

enum { HC_RULE_TERMS = 64, HC_RULE_SUMS = 3 };

/* The operands of one instruction or piece, n of each. */
struct hc_rule_terms {
    int n;
    struct hc_number a[HC_RULE_TERMS];
    struct hc_number b[HC_RULE_TERMS];
    struct hc_number scale_a[HC_RULE_TERMS]; /* of the product's block; 1 where there are none */
    struct hc_number scale_b[HC_RULE_TERMS];
    struct hc_number p[HC_RULE_TERMS];  /* room for the products */
    struct hc_number sum[HC_RULE_SUMS]; /* room for sums; the last one is C */
};

/* `c` becomes D. */
typedef void hc_rule(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c);
hc_rule hc_rule_fused;
hc_rule hc_rule_grouped;
hc_rule hc_rule_floored; /* and in halves */
hc_rule hc_rule_exact;
hc_rule hc_rule_pairwise;
hc_rule hc_rule_chain;
hc_rule hc_rule_two_chains;
hc_rule hc_rule_pair_then_c;

/* Frees the numbers that hc_unit_by_definition keeps for this thread. */
void hc_definition_end(void);

#endif
