/* Arguments of the kernels in pool_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_POOL_H
#define HC_KERNELS_CUDA_KERNEL_POOL_H

#include "kernels/cuda/kernel/view.h"

/* x [images, height, wide, channels], y [images, height / window, wide / window, channels]; n is the
   count of what is written: of y forward, of x backward. */
struct hc_dk_avg_pool {
    struct hc_dk_view x;
    struct hc_dk_view y;
    int64_t window;
    int64_t wide;
    int64_t channels;
    int64_t n;
};

/* x is dx and y is dy. */
struct hc_dk_avg_pool_bwd {
    struct hc_dk_avg_pool pool;
};

#endif
