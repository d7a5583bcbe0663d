/* Arguments of the kernels in sweep.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_SWEEP_H
#define HC_KERNELS_CUDA_KERNEL_SWEEP_H

#include "op/call.h"

/* One part of a sweep: the call for the operands numbered first, first + 1, ... */
struct hc_dk_sweep {
    struct hc_call call;
    uint32_t first;
    uint16_t unwritten; /* what the results are before the call */
    unsigned *judged;   /* struct hc_judged: checked, wrong, from_end; added to */
};

#endif
