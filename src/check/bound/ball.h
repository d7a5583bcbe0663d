/* Running error analysis: arithmetic on real numbers that carries along how far a computed number
   can have strayed from them.

   A computed number lies within `rad` of the real number `mid`. Each operation adds what it
   inherits, by the worst case over both operands, and its own rounding: at most u |result| where
   the result is normal, half the smallest subnormal below (sums of fp32 numbers are exact there).
   A 16-bit format F means one rounding into fp32 and one more into F. `mid` itself is computed in
   fp64; its relative 2^-53 is counted with every rounding. Where a finite result can leave the
   format's range, or a divisor's sign is not certain, the error is infinite. An infinity that comes
   from an infinite operand is exact: value infinite, error 0.
   With f = HC_FP64 `mid` strays as the computed number does, and both are counted. */
#ifndef HC_CHECK_BOUND_BALL_H
#define HC_CHECK_BOUND_BALL_H

#include "num/format.h"

struct hc_ball {
    double mid;
    double rad;
};

/* A number that is stored: no error. */
struct hc_ball hc_ball_exact(double value);

/* A number of fp64 rounded into f; fp64: as it is. */
struct hc_ball hc_ball_into(enum hc_format f, struct hc_ball x);

struct hc_ball hc_ball_add(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_sub(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_mul(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_div(enum hc_format f, struct hc_ball x, struct hc_ball y);
struct hc_ball hc_ball_sqrt(enum hc_format f, struct hc_ball x);

/* In fp32 or fp64, to the 2 ulp of op/call.h. */
struct hc_ball hc_ball_exp(enum hc_format f, struct hc_ball x);
struct hc_ball hc_ball_log(enum hc_format f, struct hc_ball x);

/* A sum in fp32 or fp64, its terms added in any order. */
struct hc_ball_sum {
    double mid;
    double rad;       /* of the terms */
    double magnitude; /* of the computed terms */
    double count;
};

void hc_ball_term(struct hc_ball_sum *sum, struct hc_ball term);
struct hc_ball hc_ball_total(enum hc_format f, const struct hc_ball_sum *sum);

#endif
