/* What the files of the error bound share. */
#ifndef HC_FORMULA_RADIUS_RULES_H
#define HC_FORMULA_RADIUS_RULES_H

#include "formula/radius.h"
#include "formula/upward.h"

/* The computed number's magnitude is in [least, most]. Its distance from mid is at most
   2^-52 |mid|, plus 2^-1074 if it has an error; the factors 1 -+ 2^-50 leave room for rounding. */
static inline double hc_disc_most(const struct hc_disc *d)
{
    double size = hc_mul_up(fabs(d->mid), 1 + 0x1p-50);
    return d->rad > 0 ? hc_add_up(size, 0x1p-1074) : size;
}

static inline double hc_disc_least(const struct hc_disc *d)
{
    double size = fabs(d->mid) * (1 - 0x1p-50) - (d->rad > 0 ? 0x1p-1073 : 0);
    return size > 0 ? size : 0;
}

/* Below the distance from 0 to the disc; 0 or less if 0 may lie in it. */
static inline double hc_disc_distance(const struct hc_disc *d)
{
    double size = hc_disc_least(d);
    return isinf(size) ? size : nextafter(size - d->rad, -(double)INFINITY);
}

static inline bool hc_disc_is_unknown(const struct hc_disc *d)
{
    return isinf(d->rad) || (d->rad > 0 && !isfinite(d->mid));
}

/* The functions that jump (radius_jumps.c). */
double hc_radius_floor(const struct hc_disc *d, double value);
double hc_radius_larger(const struct hc_disc *d);
double hc_radius_select(const struct hc_disc *d);
double hc_radius_truth(enum hc_function f, const struct hc_disc *d);

#endif
