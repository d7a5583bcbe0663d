/* Tensors as the arguments of device kernels have them. */
#ifndef HC_KERNELS_CUDA_KERNEL_VIEW_H
#define HC_KERNELS_CUDA_KERNEL_VIEW_H

#include "op/tensor.h"

/* A tensor's elements in device memory. */
struct hc_dk_view {
    enum hc_format format;
    void *data;
};

static inline struct hc_dk_view hc_dk_view_of(const struct hc_tensor *t)
{
    struct hc_dk_view view = {t->format, t->data};
    return view;
}

#endif
