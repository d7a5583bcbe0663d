/* Arguments of the kernels in loss_kernels.c. */
#ifndef HC_KERNELS_CUDA_KERNEL_LOSS_H
#define HC_KERNELS_CUDA_KERNEL_LOSS_H

#include "kernels/cuda/kernel/view.h"

/* z [rows, classes]. */
struct hc_dk_logits {
    struct hc_dk_view z;
    const int32_t *label;
    int64_t rows;
    int64_t classes;
};

/* to[row] = that row's loss, right[row] = 1 where its largest logit is at the label, else 0. Shared memory, here and below: a float for every warp. */
struct hc_dk_row_losses {
    struct hc_dk_logits logits;
    float *to;
    float *right;
};

/* count: what the gradient is divided by. */
struct hc_dk_xent_bwd {
    struct hc_dk_logits logits;
    const float *upstream;
    float count;
    struct hc_dk_view out;
};

#endif
