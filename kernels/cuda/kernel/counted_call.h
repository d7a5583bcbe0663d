/* Arguments of kernels whose last block continues with the results of all blocks. */
#ifndef HC_KERNELS_CUDA_KERNEL_COUNTED_CALL_H
#define HC_KERNELS_CUDA_KERNEL_COUNTED_CALL_H

#include "op/call.h"

struct hc_dk_counted_call {
    struct hc_call call;
    unsigned *counters; /* the queue's, 0 between kernels */
};

#endif
