/* Arguments of the kernels that take more than the call; those of optimizer.c and quant.c have
   headers of their own. */
#ifndef HC_KERNELS_CUDA_KERNEL_ARGUMENTS_H
#define HC_KERNELS_CUDA_KERNEL_ARGUMENTS_H

#include "kernels/element/quant_gemm.h"
#include "op/call.h"

/* For kernels whose last block continues with the results of all blocks. */
struct hc_dk_counted_call {
    struct hc_call call;
    unsigned *counters; /* the queue's, 0 between kernels */
};

/* The rows of hc_formats for both sides of a cast. Their names point into the host's memory. */
struct hc_dk_cast_any {
    struct hc_call call;
    struct hc_format_info from;
    struct hc_format_info to;
};

/* to[i] = round(by * from[i % count of from]), the product in fp32; zeros where `from` has no
   data. */
struct hc_dk_broadcast {
    struct hc_tensor from;
    struct hc_tensor to;
    float by;
    int no_minus; /* a product of -0 becomes +0 */
};

/* x [N, H, W, C], w [K, R, S, C], y [N, P, Q, K]: the op says which of them is written. */
struct hc_dk_conv_direct {
    enum hc_op op;
    struct hc_tensor x;
    struct hc_tensor w;
    struct hc_tensor y;
    int64_t stride;
    int64_t pad;
};

/* The call of gemm_q, and what reads its factors and their scales. */
struct hc_dk_gemm_q {
    struct hc_call call;
    struct hc_code_decoder a, b;
    struct hc_block_scales a_scales, b_scales;
};

/* One part of a sweep: the call for the operands numbered first, first + 1, ... */
struct hc_dk_sweep {
    struct hc_call call;
    uint32_t first;
    uint16_t unwritten; /* what the results are before the call */
    unsigned *judged;   /* struct hc_judged: checked, wrong, from_end; added to */
};

#endif
