/* Arguments of the kernels in cast_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_CAST_H
#define HC_KERNELS_CUDA_KERNEL_CAST_H

#include "kernels/cuda/kernel/view.h"

/* Among H to nearest: by way of fp32, which holds every value of the others. */
struct hc_dk_cast {
    struct hc_dk_view from;
    struct hc_dk_view to;
    int64_t n;
};

/* From fp32 into fp16 or bf16. */
struct hc_dk_cast_directed {
    const float *from;
    enum hc_format format;
    uint16_t *to;
    enum hc_direction direction;
    int64_t n;
};

/* Anything else, by the definition; the formats' names are of the host and not looked at. */
struct hc_dk_cast_any {
    struct hc_format_info from_format;
    struct hc_format_info to_format;
    const void *from;
    void *to;
    enum hc_direction direction;
    int64_t n;
};

#endif
