/* Launches of device kernels: the same call queues a kernel on a CUDA stream (device/) and in the
   emulation (emulate/). */
#ifndef HC_KERNELS_CUDA_LAUNCH_H
#define HC_KERNELS_CUDA_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "op/status.h"

struct hc_queue;

enum hc_device_kernel {
#define HC_DEVICE_KERNEL(name) HC_DK_##name,
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
    HC_DEVICE_KERNEL_COUNT
};

/* Limits that every device we build for grants a block without an opt-in. */
enum {
    HC_WARP = 32,
    HC_MAX_THREADS = 1024,
    HC_MAX_SHARED = 48 * 1024,
    HC_MAX_ARGUMENTS = 4096,
};

/* Threads of a block, and the most blocks that a kernel over elements gets: 8 on each of 128
   multiprocessors. */
enum { HC_CUDA_THREADS = 256, HC_CUDA_BLOCKS = 1024 };

/* Queues `blocks` blocks of `threads` threads (1 to HC_MAX_THREADS), each with `shared` bytes of
   shared memory (up to HC_MAX_SHARED). args points to the kernel's struct hc_dk_..., which is
   copied. With no blocks nothing happens. HC_DEVICE when the launch is refused; an error of the
   running kernel is reported by the next upload, download or launch. */
enum hc_status hc_launch(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                         int threads, size_t shared, const void *args, size_t args_size);

/* The number of blocks that gives each of n elements a thread, at most `most`: a kernel that
   strides by the grid does the rest. */
static inline int hc_blocks_for(int64_t n, int threads, int most)
{
    int64_t blocks = (n + threads - 1) / threads;
    return blocks < most ? (int)blocks : most;
}

/* Launches a kernel that strides over n elements and needs no shared memory. */
static inline enum hc_status hc_launch_elements(struct hc_queue *queue, enum hc_device_kernel which,
                                                int64_t n, const void *args, size_t args_size)
{
    return hc_launch(queue, which, hc_blocks_for(n, HC_CUDA_THREADS, HC_CUDA_BLOCKS),
                     HC_CUDA_THREADS, 0, args, args_size);
}

#endif
