/* Running error analysis: arithmetic on real numbers that carries along how far a computed number
   can have strayed from them.

   A computed number lies within `error` of the real number `value`. Each operation adds what it
   inherits, by the worst case over both operands, and its own rounding: at most u |result| where
   the result is normal, half the smallest subnormal below (sums of fp32 numbers are exact there).
   A 16-bit format F means one rounding into fp32 and one more into F. `value` itself is computed in
   fp64; its relative 2^-53 is counted with every rounding. Where a finite result can leave the
   format's range, or a divisor's sign is not certain, the error is infinite. An infinity that comes
   from an infinite operand is exact: value infinite, error 0.
   With f = HC_FP64 `value` strays as the computed number does, and both are counted. */
#ifndef HC_CHECK_NEAR_H
#define HC_CHECK_NEAR_H

#include "num/format.h"

struct hc_near {
    double value;
    double error;
};

/* A number that is stored: no error. */
struct hc_near hc_near_exact(double value);

/* A number of fp64 rounded into f; fp64: as it is. */
struct hc_near hc_near_into(enum hc_format f, struct hc_near x);

struct hc_near hc_near_add(enum hc_format f, struct hc_near x, struct hc_near y);
struct hc_near hc_near_sub(enum hc_format f, struct hc_near x, struct hc_near y);
struct hc_near hc_near_mul(enum hc_format f, struct hc_near x, struct hc_near y);
struct hc_near hc_near_div(enum hc_format f, struct hc_near x, struct hc_near y);
struct hc_near hc_near_sqrt(enum hc_format f, struct hc_near x);

/* In fp32 or fp64, to the 2 ulp of op/call.h. */
struct hc_near hc_near_exp(enum hc_format f, struct hc_near x);
struct hc_near hc_near_log(enum hc_format f, struct hc_near x);

/* A sum in fp32 or fp64, its terms added in any order. */
struct hc_near_sum {
    double value;
    double error;     /* of the terms */
    double magnitude; /* of the computed terms */
    double count;
};

void hc_near_term(struct hc_near_sum *sum, struct hc_near term);
struct hc_near hc_near_total(enum hc_format f, const struct hc_near_sum *sum);

#endif
