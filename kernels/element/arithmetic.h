/* The IEEE operations on one element.

   In fp32 and fp64 they are the machine's. In a 16-bit format the caller rounds the fp32 result
   once more, which gives the correctly rounded one, since 24 >= 2 p + 2 for p = 11 and p = 8
   (Figueroa, When is double rounding innocuous?, 1995). That theorem is about normal numbers;
   subnormals need arguments of their own.
   - fp16: its subnormals are normal in fp32. There sums and products are exact, and a quotient that
     is no midpoint stays at least 2^-37 away from it, where half an ulp of fp32 is at most 2^-39.
   - bf16: its subnormals (multiples of 2^-133) lie among those of fp32 (2^-149). Sums are exact. A
     product has 16 bits: above 2^-134 it is exact, below it goes to 0 either way. A quotient X/Y
     2^e of 8-bit integers misses a midpoint by 2^-143 or more.
   The sum in an fma can have 2 p + 64 bits and more, so it is formed in fp64 and rounded to odd
   first (round.h). */
#ifndef HC_KERNELS_ELEMENT_ARITHMETIC_H
#define HC_KERNELS_ELEMENT_ARITHMETIC_H

#include "kernels/element/round.h"

HC_INLINE hc_number hc_element_add(hc_number x, hc_number y)
{
    return x + y;
}

HC_INLINE hc_number hc_element_sub(hc_number x, hc_number y)
{
    return x - y;
}

HC_INLINE hc_number hc_element_mul(hc_number x, hc_number y)
{
    return x * y;
}

HC_INLINE hc_number hc_element_div(hc_number x, hc_number y)
{
    return x / y;
}

HC_INLINE hc_number hc_element_sqrt(hc_number x)
{
    return hc_sqrt(x);
}

/* x y + z of 16-bit values, rounded to odd into fp32. Rounded on to nearest into their format, it
   gives the correctly rounded result. The product is exact in fp64: it has at most 22 bits and lies
   between 2^-266 and 2^256. */
HC_INLINE float hc_element_fma16(float x, float y, float z)
{
    return hc_fp32_to_odd(hc_add_to_odd((double)x * (double)y, (double)z));
}

#ifdef HC_ELEMENTS_IN_FP64

HC_INLINE hc_number hc_element_fma(enum hc_format format, hc_number x, hc_number y, hc_number z)
{
    (void)format;
    return hc_fma(x, y, z);
}

#else

/* All operands are in `format`, and the caller rounds the result into it. */
HC_INLINE hc_number hc_element_fma(enum hc_format format, hc_number x, hc_number y, hc_number z)
{
    return format == HC_FP32 ? hc_fma(x, y, z) : hc_element_fma16(x, y, z);
}

#endif

#endif
