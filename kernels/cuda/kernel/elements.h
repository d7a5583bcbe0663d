/* For the bodies of device kernels: elements of views, and the walk of a grid over them. */
#ifndef HC_KERNELS_CUDA_KERNEL_ELEMENTS_H
#define HC_KERNELS_CUDA_KERNEL_ELEMENTS_H

#include "kernels/cuda/kernel/device.h"
#include "kernels/cuda/kernel/view.h"
#include "kernels/element/load.h"

/* Elements i, i + step, i + 2 step, ... are this thread's. */
HC_ON_DEVICE int64_t hc_dk_first(void)
{
    return (int64_t)hc_block() * hc_threads() + hc_thread();
}

HC_ON_DEVICE int64_t hc_dk_stride(void)
{
    return (int64_t)hc_blocks() * hc_threads();
}

/* The view is fp32, bf16 or fp16. */
HC_ON_DEVICE float hc_dk_load(const struct hc_dk_view *view, int64_t i)
{
    return hc_load(view->format, view->data, i);
}

HC_ON_DEVICE void hc_dk_store(const struct hc_dk_view *view, int64_t i, float value)
{
    hc_store(view->format, view->data, i, value);
}

#endif
