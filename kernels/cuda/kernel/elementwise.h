/* Arguments of the kernels in elementwise.c that take more than the call. */
#ifndef HC_KERNELS_CUDA_KERNEL_ELEMENTWISE_H
#define HC_KERNELS_CUDA_KERNEL_ELEMENTWISE_H

#include "op/call.h"

/* The rows of hc_formats for both sides of a cast. Their names point into the host's memory. */
struct hc_dk_cast_any {
    struct hc_call call;
    struct hc_format_info from;
    struct hc_format_info to;
};

#endif
