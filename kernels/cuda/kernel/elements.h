/* For the bodies of device kernels: elements of tensors, and a loop over them that strides by the
   grid. */
#ifndef HC_KERNELS_CUDA_KERNEL_ELEMENTS_H
#define HC_KERNELS_CUDA_KERNEL_ELEMENTS_H

#include "kernels/cuda/kernel/device.h"
#include "kernels/element/load.h"
#include "op/call.h"

/* This thread has the elements hc_dk_first(), hc_dk_first() + hc_dk_stride(), ... */
HC_ON_DEVICE int64_t hc_dk_first(void)
{
    return (int64_t)hc_block() * hc_threads() + hc_thread();
}

HC_ON_DEVICE int64_t hc_dk_stride(void)
{
    return (int64_t)hc_blocks() * hc_threads();
}

/* hc_tensor_count, for the device. */
HC_ON_DEVICE int64_t hc_dk_count(const struct hc_tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < HC_MAX_RANK; i++)
        count *= i < t->rank ? t->shape[i] : 1;
    return count;
}

/* Element i as a number of the working format (kernels/element/load.h). */
HC_ON_DEVICE hc_number hc_dk_load(const struct hc_tensor *t, int64_t i)
{
    return hc_load(t->format, t->data, i);
}

HC_ON_DEVICE void hc_dk_store(const struct hc_tensor *t, int64_t i, hc_number value)
{
    hc_store(t->format, t->data, i, value);
}

/* Whether an optional fp32 [1] tensor is there and not 0. */
HC_ON_DEVICE bool hc_dk_is_set(const struct hc_tensor *flag)
{
    return flag->data && *(const float *)flag->data != 0;
}

#endif
