/* Independent statements of the scale rules (op/scale_rule.h), in MPFR and exact powers of two.
   They share the names of the rules with kernels/element/scale_rule.h, and nothing else. All
   numbers are fp32's. */
#ifndef HC_REFERENCE_SCALE_H
#define HC_REFERENCE_SCALE_H

#include <stdint.h>

#include "op/quant.h"

struct hc_stated_scale {
    double decode;   /* what a code is multiplied by */
    double encode;   /* what an element is multiplied by before it is rounded */
    uint64_t stored; /* decode's bits in hc_scale_format(rule) */
};

/* The scale of a block with this amax (0, positive, inf or NaN), in a tensor of fp32, bf16 or fp16
   elements with that one, which only rules of two levels look at. Under HC_SCALE_GIVEN amax is the
   multiplier. */
struct hc_stated_scale hc_stated_scale(enum hc_scale_rule rule, enum hc_format codes,
                                       enum hc_format x, double tensor_amax, double amax);

/* The second factor of every code of a tensor; 1 under rules of one level. */
double hc_stated_tensor_scale(enum hc_scale_rule rule, enum hc_format codes, double tensor_amax);

/* The scale after one step with this amax. history has `length` entries; new_history, if it is not
   NULL, gets as many. It is not history. */
double hc_stated_delayed(const struct hc_delayed_scale *p, double amax, double scale,
                         const double *history, int64_t length, double *new_history);

#endif
