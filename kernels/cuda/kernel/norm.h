/* Arguments of batch norm's kernels (norm.c, norm_bwd.c). */
#ifndef HC_KERNELS_CUDA_KERNEL_NORM_H
#define HC_KERNELS_CUDA_KERNEL_NORM_H

#include "op/call.h"

/* How x [rows, channels] lies over a grid of tiles * slices blocks. A slice has `chunk` rows, the
   last one what is left. In a block, a thread has `wide` neighbouring channels (1 or HC_DK_WIDE),
   `columns` threads (a power of two) lie side by side in a row, and the others take the rows below
   it. The last block of a tile adds up its slices. With one slice, that block has the whole tile,
   and goes on to the results. */
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
    bool leaky;              /* with leaky ReLU */
    bool variance;           /* `invstd` is a variance, not 1/sqrt(variance + eps) */
    bool parts;              /* of a batch that ranks share: a kernel of sums ends with its sums */
    struct hc_tensor mean;   /* of x, by channel; */
    struct hc_tensor invstd; /* bn_moments writes both, all other kernels read them */
    struct hc_tensor gamma;
    struct hc_tensor dy;
    struct hc_tensor dgamma; /* backward: the sums, or what their means over all ranks are */
    struct hc_tensor dbeta;
    const void *y; /* of the forward pass, in dy's format: for leaky ReLU's gradient */
    unsigned char
        *positive;    /* backward with leaky ReLU and vectors: the bits y > 0 of each vector */
    const void *skip; /* forward: sum = y + skip, all in one format; or NULL */
    void *sum;
    const void *addends[2]; /* backward: dy = their sum is written first, in dy's format; or NULL */
    double *sums;           /* two sums of each slice and channel, [slices, 2, channels] */
    float *means;           /* backward: dbeta / rows and dgamma / rows, [2, channels] */
    unsigned *counters;     /* the queue's, one for each tile, 0 between kernels */
};

#endif
