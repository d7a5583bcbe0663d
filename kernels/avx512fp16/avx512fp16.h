/* The kernels of a CPU's half arithmetic. HC_UNSUPPORTED where the formats are not theirs. */
#ifndef HC_KERNELS_AVX512FP16_AVX512FP16_H
#define HC_KERNELS_AVX512FP16_AVX512FP16_H

#include "backend.h"

/* add, sub, mul, div, sqrt and fma in fp16. */
hc_kernel hc_avx512fp16_arithmetic;

/* Converts between fp16 and fp32 or fp64, and from i32 into fp16, in every direction. */
hc_kernel hc_avx512fp16_cast;

#endif
