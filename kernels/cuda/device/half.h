/* Arguments of the kernels in half.cu. */
#ifndef HC_KERNELS_CUDA_DEVICE_HALF_H
#define HC_KERNELS_CUDA_DEVICE_HALF_H

#include <stdint.h>

/* If an op has fewer inputs, y and z are x, which is then read and not used. */
struct hc_half {
    const void *x;
    const void *y;
    const void *z;
    void *out;
    int64_t n;
};

#endif
