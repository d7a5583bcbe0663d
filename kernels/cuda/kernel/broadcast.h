/* Arguments of the kernel in broadcast.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_BROADCAST_H
#define HC_KERNELS_CUDA_KERNEL_BROADCAST_H

#include "op/tensor.h"

/* to[i] = round(by * from[i % count of from]), the product in fp32; zeros where `from` has no
   data. */
struct hc_dk_broadcast {
    struct hc_tensor from;
    struct hc_tensor to;
    float by;
    int no_minus; /* a product of -0 becomes +0 */
};

#endif
