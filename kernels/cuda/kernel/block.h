/* Sums and maxima over the threads of a block, of 32, 64, ... 1024 threads: a fixed tree, so that the
   same values give the same bits. `shared` is shared memory, a float for every warp; it is free again
   when the function returns. Every thread of the block calls, and every one gets the result. */
#ifndef HC_KERNELS_CUDA_KERNEL_BLOCK_H
#define HC_KERNELS_CUDA_KERNEL_BLOCK_H

#include <math.h>

#include "kernels/cuda/kernel/device.h"
#include "kernels/cuda/launch.h"

/* Halves the warp five times; the first lane then has the sum of all. What the upper lanes add to
   themselves at the warp's end nobody reads. The first thread of each warp leaves it in `shared`, and
   the warps are added in order. */
HC_ON_DEVICE float hc_dk_block_sum(float x, float *shared)
{
    for (int delta = HC_WARP / 2; delta > 0; delta /= 2)
        x += hc_shuffle_down(x, delta);
    if (hc_thread() % HC_WARP == 0)
        shared[hc_thread() / HC_WARP] = x;
    hc_sync();
    float sum = shared[0];
    for (int warp = 1; warp < hc_threads() / HC_WARP; warp++)
        sum += shared[warp];
    hc_sync();
    return sum;
}

/* NaN is passed over, as by fmaxf. */
HC_ON_DEVICE float hc_dk_block_max(float x, float *shared)
{
    for (int delta = HC_WARP / 2; delta > 0; delta /= 2)
        x = fmaxf(x, hc_shuffle_down(x, delta));
    if (hc_thread() % HC_WARP == 0)
        shared[hc_thread() / HC_WARP] = x;
    hc_sync();
    float most = shared[0];
    for (int warp = 1; warp < hc_threads() / HC_WARP; warp++)
        most = fmaxf(most, shared[warp]);
    hc_sync();
    return most;
}

#endif
