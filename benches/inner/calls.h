/* Calls with the shapes of a training step, without memory. `n` is the number of images, or of
   blocks of 16,384 elements if the op has no images. Activations are those of Darknet-16's third
   group, 16 x 16 x 64. */
#ifndef HC_BENCHES_INNER_CALLS_H
#define HC_BENCHES_INNER_CALLS_H

#include "op/call.h"

typedef struct hc_call hc_make_call(enum hc_format format, int64_t n);

hc_make_call hc_copy_call; /* cast of fp32 into fp32: one read, one write */
hc_make_call hc_cast_call; /* fp32 into the format */
hc_make_call hc_unscale_call;
hc_make_call hc_sum_call;
hc_make_call hc_leaky_call;
hc_make_call hc_leaky_bwd_call;
hc_make_call hc_bn_train_call;
hc_make_call hc_bn_infer_call;
hc_make_call hc_bn_bwd_call;
hc_make_call hc_bn_leaky_train_call;
hc_make_call hc_bn_leaky_bwd_call;
hc_make_call hc_sgd_call;
hc_make_call hc_adamw_call;
hc_make_call hc_conv_call;
hc_make_call hc_conv_data_call;
hc_make_call hc_conv_filter_call;
hc_make_call hc_gemm_call; /* square, of 8 n rows; tf32, as in convolutions, of fp32 numbers */

/* Bytes of all tensors of the call, each counted once: the least that it must move. A tensor
   that is updated in place counts as an input and as an output. */
double hc_call_bytes(const struct hc_call *call);

/* Floating-point operations of gemm and convolutions: two for each multiplication. */
double hc_call_operations(const struct hc_call *call);

#endif
