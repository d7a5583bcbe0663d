/* A second, tighter line inside the bound of a sum: what rounding errors come to with overwhelming
   probability if they are independent. */
#ifndef HC_CHECK_BOUND_LINE_H
#define HC_CHECK_BOUND_LINE_H

#include "backend.h"
#include "reference.h"

/* The largest |got - real| to expect of an element that sums products of random numbers, if each
   rounding to nearest is an independent error of mean zero. A sound kernel crosses the line with a
   chance of less than HC_LINE_CHANCE in HC_LINE_RESULTS results (line.c has the derivation). It is
   infinite where that is no model of the call: for other ops, for accumulators that truncate or are
   narrower than fp32, for inputs that may be taken as tf32. */
double hc_line(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
               const struct hc_exact *want);

#define HC_LINE_RESULTS 0x1p30
#define HC_LINE_CHANCE  0x1p-10

#endif
