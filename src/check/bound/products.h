/* What the bounds of all sums of products share (sum.c, gemm.c). */
#ifndef HC_CHECK_BOUND_PRODUCTS_H
#define HC_CHECK_BOUND_PRODUCTS_H

#include "check/bound/rules.h"

/* What underflow of the products may lose, and how many additions there are: a product that is
   rounded counts as one more. */
double hc_bound_products(const struct hc_call *call, const struct hc_accumulator *accumulator,
                         double terms, double *additions);

/* What a product loses of its magnitude where its factors may be taken as tf32. */
double hc_bound_cut(const struct hc_call *call);

/* hc_bound_growth of the call's sums: a matrix unit's, or the ordinary arithmetic's. */
double hc_bound_growth_of(const struct hc_call *call, const struct hc_accumulator *accumulator,
                          double additions);

/* The error, or infinity where a partial sum may leave the accumulator's range. */
double hc_bound_in_range(double error, double magnitude, double largest);

#endif
