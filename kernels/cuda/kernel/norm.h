/* Arguments of the kernels in norm_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_NORM_H
#define HC_KERNELS_CUDA_KERNEL_NORM_H

#include <stdbool.h>

#include "kernels/cuda/kernel/view.h"

/* How x [rows, channels] lies over a grid of tiles * slices blocks: a thread has `wide` channels next to
   each other (1 or HC_DK_WIDE), `columns` threads (a power of two) those of a row, the others of the
   block rows below it; a slice has `chunk` rows, the last one what is left. */
struct hc_dk_tiling {
    int64_t rows;
    int64_t channels;
    int64_t chunk;
    int tiles;
    int slices;
    int columns;
    int wide;
};

/* Sums of x - p and (x - p)^2 by slice, [slices, 2, channels]; p is the channel's first x, or 0 where
   that is not finite. Shared memory: 2 wide doubles a thread. */
struct hc_dk_bn_moments {
    struct hc_dk_tiling rows;
    struct hc_dk_view x;
    double *sums;
};

/* Mean, 1/sqrt(var + eps) and the running statistics from the slices' sums. A block has 32 channels
   and as many warps as share the slices, a power of two. Shared memory: two doubles a thread. */
struct hc_dk_bn_statistics {
    struct hc_dk_tiling rows;
    struct hc_dk_view x;
    const double *sums;
    struct hc_dk_view mean_in;
    struct hc_dk_view variance_in;
    struct hc_dk_view mean_out;
    struct hc_dk_view variance_out;
    float *saved_mean;
    float *saved_invstd;
    float eps;
    float momentum;
};

/* y = (x - mean) * invstd * gamma + beta, or leaky_relu of that rounded into y's format. With
   `variance` it is what `invstd` holds. */
struct hc_dk_bn_normalize {
    struct hc_dk_tiling rows;
    struct hc_dk_view x;
    struct hc_dk_view gamma;
    struct hc_dk_view beta;
    struct hc_dk_view mean;
    struct hc_dk_view invstd;
    struct hc_dk_view y;
    float eps;
    float slope;
    bool variance;
    bool leaky;
};

#endif
