/* Arguments of the kernels in arithmetic_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_ARITHMETIC_H
#define HC_KERNELS_CUDA_KERNEL_ARITHMETIC_H

#include "kernels/cuda/kernel/view.h"
#include "op/op.h"

/* y and z: NULL where the op has fewer inputs; x in their place is read and not used. */
struct hc_dk_arithmetic {
    enum hc_op op;
    enum hc_format format;
    const void *x;
    const void *y;
    const void *z;
    void *out;
    int64_t n;
};

#endif
