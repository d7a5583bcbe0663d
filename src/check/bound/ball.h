/* Running error analysis: arithmetic on enclosures.

   Many contracts state a formula of ten roundings. A bound on its result could be derived by hand
   for each; here the formula is computed once more on balls. A ball stands for a computed number
   that lies within `rad` of the real number `mid`. Each operation returns a ball for its result:
   the radius is what the operands' radii come to, by the worst case over both, and the operation's
   own rounding. That rounding is at most u |result| where the result is normal, and half the
   smallest subnormal number below (sums of fp32 numbers are exact there). A 16-bit format F means
   one rounding into fp32 and one more into F.

   `mid` itself is computed in fp64; its relative 2^-53 is counted with every rounding. For f =
   HC_FP64 that would be as much as the number under test loses. There the real number is mid + lo,
   a pair of numbers of fp64, whose own errors are below 2^-100; elsewhere lo is 0.

   The radius is infinite where nothing can be promised: a finite result may leave the format's
   range, or a divisor may be 0. An infinity that comes from an infinite operand is exact: mid is
   infinite and rad is 0. The worst case over each operation is not the worst case over the formula:
   a number that appears twice counts as two, so a bound may be larger than it need be. */
#ifndef HC_CHECK_BOUND_BALL_H
#define HC_CHECK_BOUND_BALL_H

#include "num/format.h"

struct hc_ball {
    double mid;
    double rad;
    double lo;
};

/* For a format: nothing is rounded, and the ball is that of the real result. */
#define HC_REAL HC_FORMAT_COUNT

/* A number that is stored carries no error. */
struct hc_ball hc_ball_exact(double value);
struct hc_ball hc_ball_of(double mid, double rad);

/* A number of fp64 rounded into f; for fp64 it stays as it is. */
struct hc_ball hc_ball_into(enum hc_format f, struct hc_ball x);
struct hc_ball hc_ball_stored(enum hc_format f, double x);

/* x y and 1 - x, in fp64: coefficients on their way into an arithmetic. */
struct hc_ball hc_ball_product(double x, double y);
struct hc_ball hc_ball_one_minus(struct hc_ball x);

struct hc_ball hc_ball_add(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_sub(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_mul(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_div(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_sqrt(enum hc_format f, struct hc_ball x);

/* They are taken in fp32 or fp64, to within the 2 ulp of op/loss.h. */
struct hc_ball hc_ball_exp(enum hc_format f, struct hc_ball x);
struct hc_ball hc_ball_log(enum hc_format f, struct hc_ball x);

/* A sum of monomials that is computed in any order, with products fused into sums or not, in f or
   anything finer: `x` is its real value, with the radius that its operands' errors come to;
   `magnitude` is at least the sum of the monomials' magnitudes, these errors included; at most
   `roundings` roundings lie between an operand and the result; and no product is multiplied by more
   than `after` later. */
struct hc_ball hc_ball_any_order(enum hc_format f, struct hc_ball x, double magnitude,
                                 int roundings, double after);

/* A sum in fp32 or fp64, its terms added in any order. */
struct hc_ball_sum {
    double mid;
    double lo;
    double rad;       /* of the terms */
    double magnitude; /* of the computed terms */
    double count;
};

void hc_ball_term(struct hc_ball_sum *sum, struct hc_ball term);
struct hc_ball hc_ball_total(enum hc_format f, const struct hc_ball_sum *sum);

#endif
