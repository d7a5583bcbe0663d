/* What the bounds of formulas in any order share (any_order.c). */
#ifndef HC_CHECK_BOUND_ANY_ORDER_H
#define HC_CHECK_BOUND_ANY_ORDER_H

#include "check/bound/ball.h"
#include "check/bound/rules.h"

/* Roundings between an operand and a gradient with decay: weight_decay's own, a product, a sum; and
   between a term and a running average: the coefficient, a difference, a product, a sum, and one
   for a share that is taken from the other end. */
enum { HC_ANY_GRADIENT = 3, HC_ANY_AVERAGE = 5 };

/* g + decay w. */
struct hc_ball hc_any_gradient(enum hc_format f, double decay, double w, double g);

/* beta old + (1 - beta) term. `magnitude` is that of the term with its brackets multiplied out, and
   it has met so many roundings already. */
struct hc_ball hc_any_average(enum hc_format f, double beta, double old, double term,
                              double magnitude, int roundings, double after);

/* w - decay w - u. */
struct hc_ball hc_any_weight(enum hc_format f, struct hc_ball w, double decay, struct hc_ball u);

/* hc_bound_compensated for an update u + decay w. */
double hc_any_compensated(const struct hc_element *e, enum hc_format f, bool want_c,
                          const struct hc_tensor *compensation, double decay, struct hc_ball u);

#endif
