/* Arguments of the kernels in norm_bwd_kernels.c. */
#ifndef HC_KERNELS_CUDA_NORM_BWD_H
#define HC_KERNELS_CUDA_NORM_BWD_H

#include "kernels/cuda/norm.h"

struct hc_dk_gradient {
    struct hc_dk_rows rows;
    struct hc_dk_view x;
    struct hc_dk_view dy;
    struct hc_dk_view mean;
    struct hc_dk_view invstd;
    float *dbeta;  /* sums by slice */
    float *dgamma; /* likewise */
};

struct hc_dk_bn_bwd_sums {
    struct hc_dk_gradient g;
};

/* dx = (gamma * invstd) * ((dy - dbeta / M) - xhat * (dgamma / M)), on the sums before these are
   rounded into their outputs. */
struct hc_dk_bn_bwd {
    struct hc_dk_gradient g;
    struct hc_dk_view gamma;
    struct hc_dk_view dx;
    struct hc_dk_view dgamma;
    struct hc_dk_view dbeta;
};

#endif
