/* What the files of op wrappers ask of each other: bytes of scratch, and a launch that two share. */
#ifndef HC_KERNELS_CUDA_OP_FAMILIES_H
#define HC_KERNELS_CUDA_OP_FAMILIES_H

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/op/wrapper.h"

/* Sums: terms of a block, until there are so many blocks. Losses: blocks, of a row each, until
   there are so many. Batch norm: rows that a thread of a slice has at least, and warps that add up
   slices. */
enum {
    HC_CUDA_SUM_SHARE = 4 * HC_CUDA_THREADS,
    HC_CUDA_SUM_BLOCKS = 512,
    HC_CUDA_LOSS_BLOCKS = 65536,
    HC_CUDA_NORM_ROWS = 4,
    HC_CUDA_NORM_WARPS = 16,
};

extern const struct hc_border hc_cuda_borders[];

size_t hc_cuda_reduce_scratch(const struct hc_call *call);
size_t hc_cuda_norm_scratch(const struct hc_call *call);
size_t hc_cuda_loss_scratch(const struct hc_call *call);

/* out [1] = (sum of from[0..n-1]) / by, in fp32 and a fixed order. */
enum hc_status hc_cuda_whole_sum(struct hc_queue *queue, const float *from, int64_t n, float by,
                                 const struct hc_tensor *out);

#endif
