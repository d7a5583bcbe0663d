/* The running error bound: what the error of a result is at most, given those of its operands. */
#ifndef HC_FORMULA_RADIUS_H
#define HC_FORMULA_RADIUS_H

#include <stdbool.h>

#include "formula/function.h"

/* A computed number and how far the real number that it stands for is from it at most. */
struct hc_disc {
    double mid; /* as computed: a number of a format, or `real` in fp64 */
    double rad;
};

/* What the rounding of `result` adds at most. `result` is a rounded number of a format with unit
   roundoff u and smallest positive number `tiny` (num/format.h); `directed` roundings add twice as
   much. Nothing if the rounding was exact; infinite if a finite number became infinite or NaN. */
double hc_radius_rounding(double result, double u, double tiny, bool directed, bool exact);

/* A bound on |f(mids) - f(reals)| for real numbers in the operands' discs, where f is no rounding:
   hc_radius_rounding is to be added. `value` is f(mids) to fp64's accuracy. For every function but
   those of kind LIST and CONSTANT; cast adds nothing. Rounded upward. */
double hc_radius_apply(enum hc_function f, const struct hc_disc *operand, double value);

/* The same for functions of a list of n elements: distinct, count, and min and max of a list. */
double hc_radius_list(enum hc_function f, const struct hc_disc *element, long n);

#endif
