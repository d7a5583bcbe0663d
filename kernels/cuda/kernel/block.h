/* What the threads of a block do together. Every thread of the block calls, and every one gets the
   result. */
#ifndef HC_KERNELS_CUDA_KERNEL_BLOCK_H
#define HC_KERNELS_CUDA_KERNEL_BLOCK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cuda/kernel/device.h"
#include "kernels/cuda/launch.h"

/* Whether this block is the last of `blocks` to come here. It then sees what the others wrote
   before they came. `arrived` is one of the queue's counters, 0 before the first block and after
   the last. The block's shared memory, at least 4 bytes, is free before and afterwards. */
HC_ON_DEVICE bool hc_dk_last_block(unsigned *arrived, int blocks)
{
    unsigned *last = (unsigned *)hc_shared();
    hc_fence();
    hc_sync();
    if (blocks == 1)
        return true;
    if (hc_thread() == 0) {
        *last = hc_atomic_add(arrived, 1) == (unsigned)blocks - 1;
        if (*last)
            *arrived = 0;
    }
    hc_sync();
    bool is_last = *last;
    hc_fence();
    hc_sync();
    return is_last;
}

/* Sums and maxima over the threads of a block of 32, 64, ... 1024 threads. The tree is fixed, so
   that the same values give the same bits. `shared` is shared memory, a float for every warp, which
   is free again when the function returns.

   Five times, each lane adds the value of the lane half as many lanes above; the first lane then
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

/* The sum of n numbers, each thread's in order, then as above. */
HC_ON_DEVICE float hc_dk_sum_of(const float *from, int64_t n, float *shared)
{
    float sum = 0;
    for (int64_t i = hc_thread(); i < n; i += hc_threads())
        sum += from[i];
    return hc_dk_block_sum(sum, shared);
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
