/* Arguments of the kernels in sweep_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_SWEEP_H
#define HC_KERNELS_CUDA_KERNEL_SWEEP_H

#include <stdint.h>

#include "num/format.h"
#include "op/op.h"

/* A conversion's inputs go into `wide`, else that is NULL and pairs go into x and y. */
struct hc_dk_operands {
    uint32_t *wide;
    uint16_t *x;
    uint16_t *y;
    uint16_t *out;
    uint16_t unwritten;
    uint32_t first;
    int64_t n;
};

/* Needs shared memory for three unsigned integers; they are added to checked, wrong, from_end. */
struct hc_dk_judge {
    enum hc_op op;
    enum hc_format from;
    enum hc_format to;
    enum hc_direction direction;
    const uint16_t *out;
    unsigned *judged;
    uint32_t first;
    int64_t n;
};

#endif
