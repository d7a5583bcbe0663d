/* Arguments of the kernels in control_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_CONTROL_H
#define HC_KERNELS_CUDA_KERNEL_CONTROL_H

#include "op/call.h"

/* One thread. counts [HC_COUNTS]; found [1] or NULL; outputs may be the inputs. */
struct hc_dk_scaler_update {
    struct hc_scaler_update params;
    const float *scale;
    const int32_t *counts;
    const float *found;
    float *scale_out;
    int32_t *counts_out;
};

/* One block of two threads. */
struct hc_dk_overflow_verdict {
    struct hc_scaler_update params;
    const float *scale;
    const int32_t *counts;
    const float *found;
    float *out;
};

/* One block of three threads. */
struct hc_dk_rates {
    const float *table;
    int64_t rows;
    const int32_t *counts;
    float *hyper;
};

struct hc_dk_step_log {
    const float *from;
    const float *scalar[4];
    const int32_t *counts;
    int64_t rows;
    float *to;
};

/* One thread. held [1] or NULL. */
struct hc_dk_clip {
    const float *squares;
    const float *held;
    float max_norm;
    float *factor;
};

#endif
