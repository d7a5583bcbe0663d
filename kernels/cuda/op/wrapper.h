/* For the op wrappers: how many threads and blocks, and launching with a kernel's arguments. */
#ifndef HC_KERNELS_CUDA_OP_WRAPPER_H
#define HC_KERNELS_CUDA_OP_WRAPPER_H

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/kernel/view.h"

/* Of a block; the most blocks that a walk over elements gets: 8 on each of 128 multiprocessors. */
enum { HC_CUDA_THREADS = 256, HC_CUDA_BLOCKS = 1024 };

/* Shared memory for sums and maxima over a block. */
enum { HC_CUDA_BLOCK_SHARED = HC_CUDA_THREADS / HC_WARP * (int)sizeof(float) };

/* A walk over n elements, without shared memory. */
static inline enum hc_status hc_cuda_launch_elements(struct hc_queue *queue,
                                                     enum hc_device_kernel which, int64_t n,
                                                     const void *args, size_t args_size)
{
    return hc_launch(queue, which, hc_blocks_for(n, HC_CUDA_THREADS, HC_CUDA_BLOCKS),
                     HC_CUDA_THREADS, 0, args, args_size);
}

#endif
