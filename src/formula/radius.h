/* The running error bound: what the error of a result is at most, given those of its operands. */
#ifndef HC_FORMULA_RADIUS_H
#define HC_FORMULA_RADIUS_H

#include <stdbool.h>

#include "formula/program.h"
#include "num/format.h"

/* A computed number and how far the real number that it stands for is from it at most. rad 0 says
   that the real number is the computed one: {inf, 0} is infinity, {NaN, 0} is NaN. An infinite rad,
   or one above 0 around an infinity or NaN, says that nothing is known.

   The computed number may have more bits than fp64. mid is then its nearest in fp64, and the rules
   allow for the difference: 2^-52 of mid, and 2^-1074 where rad is above 0. So rad must be above 0
   where such a number is below 2^-1022 and not 0, or finite and beyond fp64's range. */
struct hc_disc {
    double mid;
    double rad;
};

/* What the rounding of a number to `result` adds at most. `result` belongs to a format with unit
   roundoff u and smallest positive number `tiny` (num/format.h), or to one of unlimited range if
   tiny is 0; `directed` roundings add twice as much. 0 if the rounding was exact, which an infinity
   or a NaN that stays one is. Infinite if a finite number became infinite or NaN, or if a directed
   rounding stopped at the largest finite number. */
double hc_radius_rounding(double result, double u, double tiny, bool directed, bool exact);

/* The same of a number that is `before` to fp64's accuracy, into a format. Also infinite where the
   format has another number in its place: the largest number for one beyond it or for a NaN, a
   positive number for a negative one or for 0. */
double hc_radius_rounding_in(enum hc_format format, double before, double result, bool directed,
                             bool exact);

/* A bound on |f(mids) - f(reals)| for real numbers in the operands' discs, where f is no rounding:
   hc_radius_rounding is to be added. The real operands lie in f's domain: where the real result of
   sqrt, log or log1p is NaN or infinite and the computed one is not, the caller knows that nothing
   is known. `value` is f(mids) to fp64's accuracy. It serves every function but those of kind
   LIST; cast adds nothing. The bound is rounded upward, and is neither NaN nor negative. */
double hc_radius_apply(enum hc_function f, const struct hc_disc *operand, double value);

/* The same for functions of a list of n elements: distinct, count, len, and min and max of a list.
   If there is no memory, the bound of distinct is n - 1, which always holds. */
double hc_radius_list(enum hc_function f, const struct hc_disc *element, long n);

#endif
