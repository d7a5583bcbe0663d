/* Image layouts. halfcheck's own is NHWC (filters KRSC); PyTorch's is NCHW (filters KCRS). */
#ifndef HC_OP_LAYOUT_H
#define HC_OP_LAYOUT_H

#include "op/tensor.h"

/* Copies a tensor of rank 4 from one to the other; `to` has the permuted shape and its own
   memory. */
void hc_tensor_to_nchw(const struct hc_tensor *nhwc, struct hc_tensor *to);
void hc_tensor_to_nhwc(const struct hc_tensor *nchw, struct hc_tensor *to);

#endif
