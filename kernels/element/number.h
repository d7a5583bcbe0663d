/* The type that the element texts compute in.

   Every formula of an op stands in one text, here or in exact/, written over hc_number and the
   functions below. The compiler reads it twice: in fp32, the working format of fp32, bf16 and fp16
   tensors, and in fp64. A file that defines HC_ELEMENTS_IN_FP64 before its first include gets the
   fp64 reading (exact/fp64.c); every other file gets fp32. All of it is static inline, so that one
   program may hold both readings under the same names.

   In both readings an operation of the text is one IEEE operation on hc_number, rounded once; the
   compiler contracts and reorders nothing (-ffp-contract=off, no fast-math). What differs is stated
   where it differs: load.h reads elements, round.h rounds into narrower formats, and arithmetic.h
   forms a 16-bit fma. */
#ifndef HC_KERNELS_ELEMENT_NUMBER_H
#define HC_KERNELS_ELEMENT_NUMBER_H

#include <math.h>

#include "num/inline.h"

#ifdef HC_ELEMENTS_IN_FP64

typedef double hc_number;
#define HC_NUMBER_FORMAT HC_FP64

HC_INLINE hc_number hc_sqrt(hc_number x)
{
    return sqrt(x);
}

HC_INLINE hc_number hc_fma(hc_number x, hc_number y, hc_number z)
{
    return fma(x, y, z);
}

HC_INLINE hc_number hc_exp(hc_number x)
{
    return exp(x);
}

HC_INLINE hc_number hc_log(hc_number x)
{
    return log(x);
}

HC_INLINE hc_number hc_fmax(hc_number x, hc_number y)
{
    return fmax(x, y);
}

#else

typedef float hc_number;
#define HC_NUMBER_FORMAT HC_FP32

HC_INLINE hc_number hc_sqrt(hc_number x)
{
    return sqrtf(x);
}

HC_INLINE hc_number hc_fma(hc_number x, hc_number y, hc_number z)
{
    return fmaf(x, y, z);
}

HC_INLINE hc_number hc_exp(hc_number x)
{
    return expf(x);
}

HC_INLINE hc_number hc_log(hc_number x)
{
    return logf(x);
}

HC_INLINE hc_number hc_fmax(hc_number x, hc_number y)
{
    return fmaxf(x, y);
}

#endif

/* A call's parameter, which its contract takes as the nearest fp32 number in fp64 calls, too. */
HC_INLINE hc_number hc_parameter(double x)
{
    return (hc_number)(float)x;
}

#endif
