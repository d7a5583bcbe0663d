/* Arguments of kernels in which the last block goes on with what all have done. */
#ifndef HC_KERNELS_CUDA_KERNEL_COUNTED_CALL_H
#define HC_KERNELS_CUDA_KERNEL_COUNTED_CALL_H

#include "op/call.h"

struct hc_dk_counted_call {
    struct hc_call call;
    unsigned *counters; /* the queue's, 0 between kernels */
};

#endif
