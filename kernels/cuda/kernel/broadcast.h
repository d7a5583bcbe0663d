/* Arguments of the kernel in broadcast.c, and its launch. */
#ifndef HC_KERNELS_CUDA_KERNEL_BROADCAST_H
#define HC_KERNELS_CUDA_KERNEL_BROADCAST_H

#include "op/status.h"
#include "op/tensor.h"

struct hc_queue;

/* to[i] = round(by * from[i % period]), the product in fp32 and after it + 0 with `no_minus`; zeros where
   `from` is NULL. */
struct hc_dk_broadcast {
    enum hc_format from_format;
    enum hc_format to_format;
    const void *from;
    void *to;
    int64_t n;
    int64_t period;
    float by;
    int no_minus; /* -0 becomes +0 */
};

enum hc_status hc_cuda_broadcast(struct hc_queue *queue, const struct hc_dk_broadcast *spread);

#endif
