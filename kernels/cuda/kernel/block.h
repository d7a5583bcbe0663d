/* Sums and maxima over the threads of a block of 32, 64, ... 1024 threads. The tree is fixed, so
   that the same values give the same bits. Every thread of the block calls, and every one gets the
   result. `shared` is shared memory, a float for every warp, which is free again when the function
   returns. */
#ifndef HC_KERNELS_CUDA_KERNEL_BLOCK_H
#define HC_KERNELS_CUDA_KERNEL_BLOCK_H

#include <math.h>

#include "kernels/cuda/kernel/device.h"
#include "kernels/cuda/launch.h"

/* Five times, each lane adds the value of the lane half as many lanes above; the first lane then
   has the sum of its warp. (The upper lanes have sums that nobody reads.) It leaves the sum in
   `shared`, and the warps are added in order. */
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

/* NaN is ignored, as by fmaxf. */
HC_ON_DEVICE float hc_dk_block_max(float x, float *shared)
{
    for (int delta = HC_WARP / 2; delta > 0; delta /= 2)
        x = fmaxf(x, hc_shuffle_down(x, delta));
    if (hc_thread() % HC_WARP == 0)
        shared[hc_thread() / HC_WARP] = x;
    hc_sync();
    float largest = shared[0];
    for (int warp = 1; warp < hc_threads() / HC_WARP; warp++)
        largest = fmaxf(largest, shared[warp]);
    hc_sync();
    return largest;
}

#endif
