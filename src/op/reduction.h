/* Reductions: sums over all elements.

   Products and partial sums are rounded into `accumulator`: fp32, or the inputs' own 16-bit format.
   With fp32 the order of the additions is free; otherwise it is 0, 1, 2, ... . The sum over nothing
   is +0. */
#ifndef HC_OP_REDUCTION_H
#define HC_OP_REDUCTION_H

#include "num/format.h"

/* sum: out = the sum of x. dot: out = the sum of x[i] * y[i].
     x, y      float, of one format
     out       float [1]
   sum_squares: out = partial + the sum of x[i]^2. Several calls sum over several tensors.
     x         float
     partial   fp32 [1], not below 0; optional (0)
     out       fp32 [1]; it may be partial itself
   The accumulator of sum_squares is fp32, rounded to nearest, never a matrix unit's; products may
   be fused or not. A sum beyond fp32 is infinite. */
enum { HC_REDUCE_X, HC_DOT_Y = 1, HC_SUM_SQUARES_PARTIAL = 1 };
enum { HC_REDUCE_OUT };

struct hc_reduce {
    enum hc_format accumulator;
};

#endif
