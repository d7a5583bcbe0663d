/* Arguments of the kernels in optimizer_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_OPTIMIZER_H
#define HC_KERNELS_CUDA_KERNEL_OPTIMIZER_H

#include "kernels/cuda/kernel/view.h"
#include "op/call.h"

/* Shared memory: a struct hc_sgd_step. hyper [3]; found [1] or NULL. */
struct hc_dk_sgd {
    struct hc_sgd params;
    const float *hyper;
    const float *found;
    struct hc_dk_view w;
    struct hc_dk_view g;
    struct hc_dk_view v;
    struct hc_dk_view w_out;
    struct hc_dk_view v_out;
    struct hc_dk_view c; /* data NULL: none */
    struct hc_dk_view c_out;
    int64_t n;
};

/* Shared memory: a struct hc_adam_step. hyper [3]; found [1] or NULL; decoupled: adamw. */
struct hc_dk_adam {
    struct hc_adam params;
    int decoupled;
    const float *hyper;
    const float *found;
    struct hc_dk_view w;
    struct hc_dk_view g;
    struct hc_dk_view m;
    struct hc_dk_view v;
    struct hc_dk_view w_out;
    struct hc_dk_view m_out;
    struct hc_dk_view v_out;
    struct hc_dk_view c; /* data NULL: none */
    struct hc_dk_view c_out;
    int64_t n;
};

#endif
