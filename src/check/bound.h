/* The largest error that an op's contract allows one output element. */
#ifndef HC_CHECK_BOUND_H
#define HC_CHECK_BOUND_H

#include "backend.h"
#include "reference.h"

/* For element `index` of output `out`: 0 where the contract demands the correctly rounded bits,
   else an absolute error, derived in bound.c from the formats, the call's lengths, the accumulator
   and the reference's conditioning. Infinite where the contract allows anything (an intermediate
   overflow that the working format cannot hold). */
double hc_bound(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
                const struct hc_want *want);

#endif
