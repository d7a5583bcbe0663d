/* What the files of scale rules in formulas share. */
#ifndef HC_FORMULA_SCALE_H
#define HC_FORMULA_SCALE_H

#include "formula/evaluation.h"

/* scale.c: the scale of a block, or tensor, `x`, under a rule without a history; `tensor` is NULL
   unless the rule has two levels. */
struct hc_value *hc_scale_of_block(struct hc_evaluation *e, const struct hc_node *node,
                                   const struct hc_value *x, const struct hc_value *tensor);

/* How far a computed number is from the real one at most: no rule of radii is needed, since both
   are known. */
double hc_scale_distance(struct hc_evaluation *e, double want, const struct hc_real *real,
                         double real_rad);

/* scale_codes.c: the codes of x, RN_SAT(fl(x * encode)), x taken as fp32; and these decoded. */
struct hc_value *hc_scale_codes(struct hc_evaluation *e, const struct hc_node *node,
                                struct hc_value *x, const struct hc_value *tensor);
struct hc_value *hc_scale_decoded(struct hc_evaluation *e, const struct hc_node *node,
                                  struct hc_value *x, struct hc_value *tensor);

#endif
