/* Runs of elements as fp32, and back: the format is looked at once for all of them. */
#ifndef HC_KERNELS_EXACT_BLOCK_H
#define HC_KERNELS_EXACT_BLOCK_H

#include "op/tensor.h"

/* Elements of leaky ReLU, and channels of batch norm, that are worked on at a time. */
enum { HC_ELEMENT_BLOCK = 64, HC_CHANNEL_BLOCK = 16 };

/* Elements first .. first + n - 1 of a tensor in H. */
void hc_load_block(const struct hc_tensor *t, int64_t first, int64_t n, float *to);

/* Rounds to nearest. */
void hc_store_block(const struct hc_tensor *t, int64_t first, int64_t n, const float *from);

#endif
