/* Arguments of the kernels in norm_bwd_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_NORM_BWD_H
#define HC_KERNELS_CUDA_KERNEL_NORM_BWD_H

#include "kernels/cuda/kernel/norm.h"

/* dz is dy, or where there is a y leaky_relu_bwd of y and dy; y has dy's format. */
struct hc_dk_gradient {
    struct hc_dk_tiling rows;
    struct hc_dk_view x;
    struct hc_dk_view dy;
    struct hc_dk_view mean;
    struct hc_dk_view invstd;
    const void *y; /* or NULL */
    float slope;
};

/* Sums of dz and dz * xhat by slice, [slices, 2, channels]. Shared memory: 2 wide doubles a thread. */
struct hc_dk_bn_bwd_sums {
    struct hc_dk_gradient g;
    double *sums;
};

/* dgamma and dbeta, and both divided by the rows before they are rounded: means [2, channels], of dz
   first. Blocks as in bn_statistics. */
struct hc_dk_bn_bwd_means {
    struct hc_dk_tiling rows;
    const double *sums;
    struct hc_dk_view dgamma;
    struct hc_dk_view dbeta;
    float *means;
};

/* dx = (gamma * invstd) * ((dz - dbeta / M) - xhat * (dgamma / M)). */
struct hc_dk_bn_bwd {
    struct hc_dk_gradient g;
    const float *means;
    struct hc_dk_view gamma;
    struct hc_dk_view dx;
};

#endif
