/* A launch that waits for the next call, which may be one that the same kernel can do on its way:
   the sum of a residual, behind batch norm or before its gradient. Whatever else is asked of the
   queue launches it first. */
#ifndef HC_KERNELS_CUDA_PENDING_H
#define HC_KERNELS_CUDA_PENDING_H

#include <stdbool.h>

#include "kernels/cuda/kernel/norm.h"
#include "kernels/cuda/launch.h"

struct hc_pending {
    bool waits;
    enum hc_device_kernel which;
    int blocks;
    int threads;
    size_t shared;
    size_t size;
    union {
        struct hc_dk_norm norm;
        struct hc_call call;
    } args;
};

/* Does what hc_launch does, but the launch waits. */
enum hc_status hc_launch_later(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                               int threads, size_t shared, const void *args, size_t args_size);

/* Launches what waits. HC_OK if nothing does. */
enum hc_status hc_cuda_settle(struct hc_queue *queue);

#endif
