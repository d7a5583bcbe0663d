/* The inside of arithmetic on enclosures, which its two files share: enclosure.c has one operation
   each, and reduction.c sums and what else takes many terms. */
#ifndef HC_DEFINE_ARITHMETIC_H
#define HC_DEFINE_ARITHMETIC_H

#include <math.h>

#include "define/enclosure.h"
#include "formula/radius.h"
#include "formula/upward.h"

/* Notes which number `real` has become. */
static inline void hc_note(struct hc_enclosure *y)
{
    y->mid = hc_real_double(y->real);
    y->plain = false;
}

/* What the precision of the real numbers costs where an operation was inexact: half an ulp. */
static inline double hc_own_rounding(const struct hc_arithmetic *a, double value, int inexact)
{
    return inexact ? hc_mul_up(hc_add_up(fabs(value), 0x1p-1022), ldexp(1, (int)-a->precision)) : 0;
}

/* The exact sum of two numbers is the rounded one and this (Knuth), unless it overflows. */
static inline double hc_rest_of_sum(double x, double z, double sum)
{
    double z_there = sum - x;
    return (x - (sum - z_there)) + (z - z_there);
}

/* What the larger of two numbers, or the smaller one, has for a radius: that of the one which it
   surely is, or else the larger radius (formula/radius.c has the proof). */
double hc_extreme_radius(const struct hc_disc *x, int chosen);

#endif
