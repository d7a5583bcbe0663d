/* Arguments of the kernel in optimizer.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_OPTIMIZER_H
#define HC_KERNELS_CUDA_KERNEL_OPTIMIZER_H

#include "kernels/element/adam.h"
#include "kernels/element/sgd.h"

/* m is SGD's momentum, too. SGD has no v, and the compensation c is optional: data is NULL. */
struct hc_dk_optimizer {
    enum hc_op op; /* sgd, adam or adamw */
    union {
        struct hc_sgd sgd;
        struct hc_adam adam;
    } params;
    struct hc_stochastic stochastic;
    const float *hyper;
    const float *found_inf; /* or NULL */
    struct hc_tensor g;
    struct hc_tensor w, m, v, c;
    struct hc_tensor new_w, new_m, new_v, new_c;
};

/* The coefficients of one step, in shared memory. */
union hc_dk_step {
    struct hc_sgd_step sgd;
    struct hc_adam_step adam;
};

#endif
