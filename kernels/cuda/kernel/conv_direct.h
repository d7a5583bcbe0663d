/* Arguments of the kernel in conv_direct.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_CONV_DIRECT_H
#define HC_KERNELS_CUDA_KERNEL_CONV_DIRECT_H

#include "op/call.h"

/* x [N, H, W, C], w [K, R, S, C], y [N, P, Q, K]: the op says which of them is written. */
struct hc_dk_conv_direct {
    enum hc_op op;
    struct hc_tensor x;
    struct hc_tensor w;
    struct hc_tensor y;
    int64_t stride;
    int64_t pad;
};

#endif
