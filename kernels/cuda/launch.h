/* Launches of device kernels: the same call on a CUDA stream (device/) and in the emulation
   (emulate/). */
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

/* What every device that we build for gives a block without being asked twice. */
enum {
    HC_WARP = 32,
    HC_MAX_THREADS = 1024,
    HC_MAX_SHARED = 48 * 1024,
    HC_MAX_ARGUMENTS = 4096,
};

/* Queues `blocks` blocks of `threads` threads (1 to HC_MAX_THREADS) with `shared` bytes of shared
   memory each (up to HC_MAX_SHARED); args is the kernel's struct hc_dk_..., which is copied. No
   blocks: nothing happens. HC_DEVICE when the launch was refused; what goes wrong while the kernel
   runs comes with the next upload, download or launch. */
enum hc_status hc_launch(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                         int threads, size_t shared, const void *args, size_t args_size);

/* Blocks of `threads` threads that give each of n elements a thread, up to `most`: a kernel that
   strides by the grid does the rest. */
int hc_blocks_for(int64_t n, int threads, int most);

#endif
