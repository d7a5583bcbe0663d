/* Arguments of the kernels in reduce_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_REDUCE_H
#define HC_KERNELS_CUDA_KERNEL_REDUCE_H

#include "kernels/cuda/kernel/view.h"

/* The terms: x[i], or x[i] y[i] where y has data. */
struct hc_dk_terms {
    struct hc_dk_view x;
    struct hc_dk_view y;
    int64_t n;
};

/* to[block] = the block's sum. Shared memory: a float for every warp. */
struct hc_dk_partial_sums {
    struct hc_dk_terms terms;
    float *to;
};

/* One block: out[0] = (sum of from[0..n-1]) / by, to which onto[0] is added, unless NULL. Shared memory: a float for every warp. */
struct hc_dk_whole_sum {
    const float *from;
    int64_t n;
    float by;
    const float *onto;
    struct hc_dk_view out;
};

/* One thread: products and partial sums rounded into `accumulator`, in the order 0, 1, 2, ... . */
struct hc_dk_sum_in_order {
    struct hc_dk_terms terms;
    enum hc_format accumulator;
    struct hc_dk_view out;
};

#endif
