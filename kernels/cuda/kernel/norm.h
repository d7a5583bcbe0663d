/* Arguments of batch norm's kernels (norm.c, norm_bwd.c). */
#ifndef HC_KERNELS_CUDA_KERNEL_NORM_H
#define HC_KERNELS_CUDA_KERNEL_NORM_H

#include "op/call.h"

/* How x [rows, channels] lies over a grid of tiles * slices blocks. A slice has `chunk` rows, the
   last one what is left. In a block, a thread has `wide` neighbouring channels (1 or HC_DK_WIDE),
   `columns` threads (a power of two) lie side by side in a row, and the others take the rows below
   it. */
struct hc_dk_tiling {
    int64_t rows;
    int64_t channels;
    int64_t chunk;
    int tiles;
    int slices;
    int columns;
    int wide;
};

struct hc_dk_norm {
    struct hc_call call;
    struct hc_dk_tiling tiling;
    bool leaky;            /* with leaky ReLU */
    bool variance;         /* `invstd` is a variance, not 1/sqrt(variance + eps) */
    struct hc_tensor mean; /* of x, by channel; */
    struct hc_tensor
        invstd; /* bn_statistics writes both in training, all other kernels read them */
    struct hc_tensor gamma;
    struct hc_tensor dy;
    const void *y; /* of the forward pass, in dy's format: for leaky ReLU's gradient */
    double *sums;  /* two sums of each slice and channel, [slices, 2, channels] */
    float *means;  /* backward: dbeta / rows and dgamma / rows, [2, channels] */
};

#endif
