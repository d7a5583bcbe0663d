/* Rounding into the format of an op's arithmetic. Every intermediate result of an op with 16-bit
   arithmetic is rounded like this, and every coefficient once.

   Rounding to odd keeps an exact value; of the two neighbours of an inexact one it takes the one
   whose last bit is 1. A second rounding is then innocuous: the odd bit says that something
   followed, so rounding on to nearest in p bits is right as long as the odd format has at least p +
   2 bits wherever the result has p, subnormals included (Boldo and Melquiond, Emulation of FMA and
   correctly rounded sums: proved algorithms using rounding to odd, 2008). That holds for fp64 over
   fp32, and for fp32 over fp16 and bf16: bf16's smallest subnormal is 2^-133, fp32's 2^-149. */
#ifndef HC_KERNELS_ELEMENT_ROUND_H
#define HC_KERNELS_ELEMENT_ROUND_H

#include "kernels/element/number.h"
#include "num/bits.h"
#include "num/directed.h"
#include "num/format.h"

/* x + y rounded to odd. The error of the sum is exact by Knuth's TwoSum, and NaN where the sum is
   not finite. The sum must not overflow fp64. */
HC_INLINE double hc_add_to_odd(double x, double y)
{
    double sum = x + y;
    double of_y = sum - x;
    double error = (x - (sum - of_y)) + (y - of_y);
    uint64_t bits = hc_fp64_bits(sum);
    int inexact = error > 0 || error < 0;
    int outward = (error > 0) == (sum > 0);
    uint64_t odd = outward ? bits + 1 : bits - 1;
    return hc_fp64_value(inexact && (bits & 1) == 0 ? odd : bits);
}

#ifdef HC_ELEMENTS_IN_FP64

/* In fp64 no format of `arithmetic` is a narrower one: nothing is rounded again. */
HC_INLINE hc_number hc_into(enum hc_format format, hc_number x)
{
    (void)format;
    return x;
}

HC_INLINE hc_number hc_coefficient(enum hc_format format, double x)
{
    (void)format;
    return x;
}

#else

/* x rounded to nearest into fp32 (nothing happens), fp16 or bf16. */
HC_INLINE hc_number hc_into(enum hc_format format, hc_number x)
{
    if (format == HC_FP16)
        return hc_fp16_round(x);
    if (format == HC_BF16)
        return hc_bf16_round(x);
    return x;
}

/* x rounded once to nearest into fp32, fp16 or bf16. */
HC_INLINE hc_number hc_coefficient(enum hc_format format, double x)
{
    return format == HC_FP32 ? (hc_number)x : hc_into(format, hc_fp32_to_odd(x));
}

#endif

#endif
