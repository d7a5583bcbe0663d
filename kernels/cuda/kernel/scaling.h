/* Arguments of the kernels in scaling_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_SCALING_H
#define HC_KERNELS_CUDA_KERNEL_SCALING_H

#include "kernels/cuda/kernel/view.h"

struct hc_dk_axpy {
    float alpha;
    struct hc_dk_view x;
    struct hc_dk_view y;
    struct hc_dk_view out;
    int64_t n;
};

struct hc_dk_scale {
    struct hc_dk_view x;
    const float *s;
    struct hc_dk_view out;
    int64_t n;
};

/* One thread: to = 1 where from is there and not 0, else 0; they may be the same. */
struct hc_dk_found {
    const float *from;
    float *to;
};

/* found is 0 or 1 before. Whoever finds something sets it: 0 or 1, or the bits of 1, is 1. */
struct hc_dk_unscale {
    int reciprocal;
    struct hc_dk_view x;
    const float *s;
    struct hc_dk_view out;
    const float *before;   /* found before, or NULL */
    const float *override; /* of the results where it is not 0; or NULL */
    float *found;
    int64_t n;
};

struct hc_dk_leaky_relu {
    float slope;
    struct hc_dk_view x;
    struct hc_dk_view out;
    int64_t n;
};

struct hc_dk_leaky_relu_bwd {
    float slope;
    struct hc_dk_view y;
    struct hc_dk_view dy;
    struct hc_dk_view out;
    int64_t n;
};

#endif
