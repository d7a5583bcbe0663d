/* What the kernel of gemm_q takes: the call, and what reads its factors and their scales. */
#ifndef HC_KERNELS_CUDA_KERNEL_QUANT_GEMM_H
#define HC_KERNELS_CUDA_KERNEL_QUANT_GEMM_H

#include "kernels/element/quant_gemm.h"
#include "op/call.h"

struct hc_dk_gemm_q {
    struct hc_call call;
    struct hc_code_decoder a, b;
    struct hc_block_scales a_scales, b_scales;
};

#endif
