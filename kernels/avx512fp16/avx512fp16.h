/* Half arithmetic as the processor does it: what this backend has. */
#ifndef HC_KERNELS_AVX512FP16_AVX512FP16_H
#define HC_KERNELS_AVX512FP16_AVX512FP16_H

#include "backend.h"

hc_kernel hc_avx512fp16_cast, hc_avx512fp16_add, hc_avx512fp16_sub, hc_avx512fp16_mul,
    hc_avx512fp16_div, hc_avx512fp16_sqrt, hc_avx512fp16_fma;

#endif
