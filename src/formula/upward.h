/* Arithmetic on bounds, rounded upward.

   fp64 rounds to nearest, and rounding never passes a number of fp64. So if the exact result were
   above the number that follows the rounded one, it would have been rounded to that number or
   beyond. The number after the rounded result is therefore an upper bound. This holds for every
   exponent: a positive result that underflows to 0 becomes 2^-1074, and one that overflows is
   infinite. An exact 0 stays 0. Operands are not negative and not NaN. */
#ifndef HC_FORMULA_UPWARD_H
#define HC_FORMULA_UPWARD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* nextafter(x, INFINITY), which is a call: numbers of one sign are in the order of their bits. */
static inline double hc_up(double x)
{
    uint64_t bits;
    if (!(x < (double)INFINITY))
        return x;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    bits += x < 0 ? ~UINT64_C(0) : 1;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static inline double hc_add_up(double a, double b)
{
    return a == 0 ? b : b == 0 ? a : hc_up(a + b);
}

/* 0 times infinity is 0: no error is not made larger. */
static inline double hc_mul_up(double a, double b)
{
    return a == 0 || b == 0 ? 0 : hc_up(a * b);
}

/* Infinite if b is 0, or less. */
static inline double hc_div_up(double a, double b)
{
    return !(b > 0) ? (double)INFINITY : a == 0 ? 0 : hc_up(a / b);
}

/* What a function of the C library gave, whose error is far below 2^-40. */
static inline double hc_library_up(double x)
{
    return hc_mul_up(x, 1 + 0x1p-40);
}

#endif
