/* The factors of a sum, for faults that add them up in a wrong way. */
#ifndef HC_CHECK_SELFTEST_FACTORS_H
#define HC_CHECK_SELFTEST_FACTORS_H

#include "op/call.h"

/* n products x[i] y[i], in the order of the contract's definition; y is 1 where nothing is
   multiplied. The caller has room for hc_call_length(call) of them. */
struct hc_factors {
    float *x;
    float *y;
    int64_t n;
};

/* The factors of element `out` of the result of sum, dot, sum_squares, gemm, a convolution or its
   gradients, or avg_pool. */
void hc_factors_of(const struct hc_call *call, int64_t out, struct hc_factors *t);

#endif
