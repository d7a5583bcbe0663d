/* The IEEE operations. In fp32 they are the machine's. A 16-bit format gets the fp32 result rounded
   once more, which is the correctly rounded one: 24 >= 2 p + 2 for p = 11 and p = 8 (Figueroa, When
   is double rounding innocuous?, 1995); not so for fma, whose sum has up to 2 p + 64 bits, so it is
   formed in fp64 and rounded to odd first. */
#ifndef HC_KERNELS_ARITHMETIC_H
#define HC_KERNELS_ARITHMETIC_H

#include <math.h>

#include "num/bits.h"

HC_INLINE float hc_element_add(float x, float y)
{
    return x + y;
}

HC_INLINE float hc_element_sub(float x, float y)
{
    return x - y;
}

HC_INLINE float hc_element_mul(float x, float y)
{
    return x * y;
}

HC_INLINE float hc_element_div(float x, float y)
{
    return x / y;
}

#endif
