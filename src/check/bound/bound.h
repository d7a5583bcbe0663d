/* The largest error that an op's contract allows one output element. */
#ifndef HC_CHECK_BOUND_BOUND_H
#define HC_CHECK_BOUND_BOUND_H

#include <stdbool.h>

#include "backend.h"
#include "reference.h"

/* The largest |got - real| that the contract allows, an absolute
   error, derived in bound*.c from the formats, the call's lengths, the accumulator and the
   reference's conditioning; the last rounding into the output's format is in it. Infinite where
   the contract allows anything: an intermediate result may leave the working format's range. What
   is NaN or infinite by definition has bound 0, unless finite terms alone may overflow. */
double hc_bound(const struct hc_element *e, const struct hc_accumulator *accumulator,
                const struct hc_exact *want);

/* Whether the contract states the result as one or two roundings of the real value; then *bits are
   the only right ones. (The bound is then what these roundings amount to.) */
bool hc_bound_bits(const struct hc_call *call, int out, const struct hc_exact *want,
                   uint64_t *bits);

/* The same for inputs of which no sum is rounded before its end (HC_INPUTS_WHOLE): where a sum, and at most a
   division of it, is all that the result needs. */
bool hc_bound_whole(const struct hc_call *call, int out, const struct hc_exact *want,
                    uint64_t *bits);

/* Whether `exact` defines the bits: the contract states every rounding and its order. */
bool hc_bound_ordered(const struct hc_call *call);

/* |got - want| as the bounds mean it: an infinity stands for the next number that the format would
   have if its exponents went on, or for want where that is larger; NaN equals NaN alone; what is
   infinite by definition must be that infinity. +0 equals -0. */
double hc_bound_error(enum hc_format format, const struct hc_exact *want, double got);

#endif
