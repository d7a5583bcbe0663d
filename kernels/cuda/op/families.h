/* What the op families share: how their work is divided over a grid, bytes of scratch, and a
   launch. */
#ifndef HC_KERNELS_CUDA_OP_FAMILIES_H
#define HC_KERNELS_CUDA_OP_FAMILIES_H

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"

enum {
    HC_CUDA_SUM_TERMS = 4 * HC_CUDA_THREADS, /* terms of a block, up to the next line's blocks */
    HC_CUDA_SUM_BLOCKS = 512,
    HC_CUDA_SUM_SHARED = HC_CUDA_THREADS / HC_WARP * (int)sizeof(float), /* bytes; see block.h */
    HC_CUDA_LOSS_BLOCKS = 65536, /* blocks of a row each, beyond which a block takes several */
    HC_CUDA_NORM_ROWS = 8,       /* rows that a thread of a slice has at least */
    HC_CUDA_NORM_SLICES = 128,   /* most slices whose sums are added up */
    HC_CUDA_NORM_COLUMNS = 8,    /* vectors of a tile: 128 bytes of halves */
    HC_CUDA_NORM_WHOLE = 4096,   /* rows up to which a slice has them all: 16 a thread */
};

extern const struct hc_border hc_cuda_borders[];

size_t hc_cuda_reduction_scratch(const struct hc_call *call);
size_t hc_cuda_norm_scratch(const struct hc_call *call);
size_t hc_cuda_loss_scratch(const struct hc_call *call);
size_t hc_cuda_quantize_scratch(const struct hc_call *call);
size_t hc_cuda_defined_scratch(const struct hc_call *call);

#endif
