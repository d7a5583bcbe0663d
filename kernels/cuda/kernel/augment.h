/* Arguments of the kernels in augment_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_AUGMENT_H
#define HC_KERNELS_CUDA_KERNEL_AUGMENT_H

#include "kernels/cuda/kernel/view.h"
#include "op/call.h"

/* One thread for each pixel of the batch, with its three channels. order is NULL or [length];
   without it length is the number of images. */
struct hc_dk_augment {
    struct hc_augment params;
    const uint8_t *pixels;
    const int32_t *labels;
    const int32_t *steps;
    const int32_t *order;
    int64_t length;
    int64_t batch;
    int64_t high;
    int64_t wide;
    struct hc_dk_view images;
    int32_t *labels_out;
};

/* One thread: to = from + 1; they may be the same. */
struct hc_dk_advance {
    const int32_t *from;
    int32_t *to;
};

#endif
