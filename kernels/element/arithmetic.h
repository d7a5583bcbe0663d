/* The IEEE operations. In fp32 they are the machine's. A 16-bit format gets the fp32 result rounded
   once more, which is the correctly rounded one: 24 >= 2 p + 2 for p = 11 and p = 8 (Figueroa, When
   is double rounding innocuous?, 1995). The theorem speaks of normal numbers. In fp16 what is
   subnormal is normal in fp32, where sums and products are exact and a quotient stays at least
   2^-37 away from a midpoint that it does not hit, against half an ulp of at most 2^-39. In bf16
   the subnormals (multiples of 2^-133) lie among fp32's (2^-149): sums are exact; a product has 16
   bits, so those above 2^-134 are exact and those below go to 0 either way; a quotient X/Y 2^e of
   8-bit integers misses a midpoint by 2^-143 or more. fma has a sum of up to 2 p + 64 bits and
   more, so it is formed in fp64 and rounded to odd first. */
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

/* x y + z of 16-bit values as the fp32 number, rounded to odd, that rounds to nearest into their
   format as the real one does. The product is exact in fp64: at most 22 bits, from 2^-266 to 2^256. */
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

/* All operands are of the format, into which the caller then rounds the result, too. */
HC_INLINE hc_number hc_element_fma(enum hc_format format, hc_number x, hc_number y, hc_number z)
{
    return format == HC_FP32 ? hc_fma(x, y, z) : hc_element_fma16(x, y, z);
}

#endif

#endif
