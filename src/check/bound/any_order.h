/* What the bounds of formulas in any order share (any_order.c). */
#ifndef HC_CHECK_BOUND_ANY_ORDER_H
#define HC_CHECK_BOUND_ANY_ORDER_H

#include "check/bound/ball.h"
#include "check/bound/rules.h"

/* Roundings between an operand and a gradient with decay: weight_decay's own, a product, a sum. */
enum { HC_ANY_GRADIENT = 3 };

/* beta old + share term, of which one coefficient may be 1 minus the other. `magnitude` is that of
   the term with its brackets multiplied out, and it has met so many roundings already. */
struct hc_average {
    struct hc_ball beta, share;
    double old;
    struct hc_ball term;
    double magnitude;
    int roundings;
    double after;
    bool from_old; /* never from the term's end */
};
struct hc_ball hc_any_average(enum hc_format f, const struct hc_average *a);

/* The same where share is 1 - beta, and the term has no error. */
struct hc_ball hc_any_moment(enum hc_format f, double beta, double old, struct hc_ball term,
                             double magnitude, int roundings, double after);

/* w - decay w - u. */
struct hc_ball hc_any_weight(enum hc_format f, struct hc_ball w, double decay, struct hc_ball u);

/* A polynomial in numbers, each of which lies within an error of the number that it stands for: the
   polynomial's value, the magnitudes of its monomials, the largest of them on the way, the sum of
   the errors, the most roundings that a monomial meets, the sum of the monomials' magnitudes times
   what each meets, and whether the numbers are finite. A product with 0 is 0, and a sum with 0 is
   the other addend: neither is rounded. */
struct hc_polynomial {
    struct hc_ball value;
    double magnitude;
    double largest;
    double error;
    int roundings;
    double weighted;
    bool finite;
};
struct hc_polynomial hc_polynomial_of(struct hc_ball x);
struct hc_polynomial hc_polynomial_scaled(double by, struct hc_polynomial x);
struct hc_polynomial hc_polynomial_sum(struct hc_polynomial x, struct hc_polynomial y);

/* The polynomial's ball in any order; its radius is infinite if a part of it may overflow. */
struct hc_ball hc_polynomial_ball(enum hc_format f, struct hc_polynomial x, double after);

/* hc_bound_compensated for an update u + decay w. */
double hc_any_compensated(const struct hc_element *e, enum hc_format f, bool want_c,
                          const struct hc_tensor *compensation, double decay, struct hc_ball u);

#endif
