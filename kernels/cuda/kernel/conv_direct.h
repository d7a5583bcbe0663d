/* Arguments of the kernel in direct_kernels.c, and its launch. */
#ifndef HC_KERNELS_CUDA_KERNEL_CONV_DIRECT_H
#define HC_KERNELS_CUDA_KERNEL_CONV_DIRECT_H

#include "kernels/cuda/kernel/view.h"
#include "op/call.h"

struct hc_queue;

/* x [n, h, w, c], weights [k, r, s, c], y [n, p, q, k]: the output among them is written, all of its
   `elements`. */
struct hc_dk_conv_direct {
    enum hc_op op;
    struct hc_dk_view x;
    struct hc_dk_view weights;
    struct hc_dk_view y;
    int64_t elements;
    int64_t n, h, w, c;
    int64_t p, q, k;
    int64_t r, s;
    int64_t stride, pad;
};

/* A convolution without cuDNN. */
enum hc_status hc_cuda_conv_direct(struct hc_queue *queue, const struct hc_call *call);

#endif
