/* gemm with sums in fp16, for backends on the CPU. */
#ifndef HC_KERNELS_EXACT_GEMM_HALF_H
#define HC_KERNELS_EXACT_GEMM_HALF_H

#include "op/call.h"

/* Needs no scratch. */
enum hc_status hc_exact_gemm_half(const struct hc_call *call);

#endif
