/* Arguments of the kernels in scaling_kernels.c. */
#ifndef HC_KERNELS_CUDA_SCALING_H
#define HC_KERNELS_CUDA_SCALING_H

#include <stdint.h>

#include "num/format.h"

struct hc_dk_scale {
    enum hc_format x_format;
    enum hc_format y_format;
    const void *x;
    const float *s;
    void *y;
    int64_t n;
};

#endif
