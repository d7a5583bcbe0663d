/* A second line inside the bound of a sum: what rounding errors come to unless they are all of one mind. */
#ifndef HC_CHECK_BOUND_LINE_H
#define HC_CHECK_BOUND_LINE_H

#include "backend.h"
#include "reference.h"

/* The largest |got - real| of an element that sums products of random numbers, each rounding to nearest being
   an independent error of mean zero. Infinite where that is no model of the call: other ops, accumulators that
   truncate or are narrower than fp32, inputs that may be taken as tf32. It is crossed with a chance of less
   than HC_LINE_CHANCE in HC_LINE_RESULTS results (line.c has the sum). */
double hc_line(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
               const struct hc_exact *want);

#define HC_LINE_RESULTS 0x1p30
#define HC_LINE_CHANCE  0x1p-10

#endif
