/* Arguments of the kernel in reduction.c that takes more than the call. */
#ifndef HC_KERNELS_CUDA_KERNEL_REDUCTION_H
#define HC_KERNELS_CUDA_KERNEL_REDUCTION_H

#include "op/tensor.h"

/* One block: out[0] = onto[0] + (sum of from[0..n-1]) / by, without the first where onto is NULL.
   Shared memory: a float for every warp. */
struct hc_dk_whole_sum {
    const float *from;
    int64_t n;
    float by;
    const float *onto;
    struct hc_tensor out;
};

#endif
