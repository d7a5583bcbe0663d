/* Arguments of the kernels in norm_kernels.c. */
#ifndef HC_KERNELS_CUDA_NORM_H
#define HC_KERNELS_CUDA_NORM_H

#include "kernels/cuda/view.h"

/* The grid has tiles * slices blocks; a slice has `chunk` rows, the last one what is left. Sums by
   slice are [slices, channels]. Shared memory of kernels that sum: a float for every thread. */
struct hc_dk_rows {
    int64_t rows;
    int64_t channels;
    int64_t chunk;
    int tiles;
    int slices;
};

/* sums by slice of x. */
struct hc_dk_bn_sums {
    struct hc_dk_rows rows;
    struct hc_dk_view x;
    float *sums;
};

/* squares by slice: of x - mean. */
struct hc_dk_bn_squares {
    struct hc_dk_rows rows;
    struct hc_dk_view x;
    const float *sums;
    float *squares;
};

struct hc_dk_affine {
    struct hc_dk_view x;
    struct hc_dk_view gamma;
    struct hc_dk_view beta;
    struct hc_dk_view y;
};

struct hc_dk_bn_train {
    struct hc_dk_rows rows;
    struct hc_dk_affine tensors;
    struct hc_dk_view mean_in;
    struct hc_dk_view variance_in;
    struct hc_dk_view mean_out;
    struct hc_dk_view variance_out;
    float *saved_mean;
    float *saved_invstd;
    const float *sums;
    const float *squares;
    float eps;
    float momentum;
};

struct hc_dk_bn_infer {
    struct hc_dk_rows rows;
    struct hc_dk_affine tensors;
    struct hc_dk_view mean;
    struct hc_dk_view variance;
    float eps;
};

#endif
