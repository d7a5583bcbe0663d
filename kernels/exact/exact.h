/* The exact backend: every op, in every combination of formats that its contract allows, in
   portable C, on one thread, in a stated order. */
#ifndef HC_KERNELS_EXACT_EXACT_H
#define HC_KERNELS_EXACT_EXACT_H

#include "backend.h"

/* Elements and channels that are worked on at a time. */
enum { HC_ELEMENT_BLOCK = 64, HC_CHANNEL_BLOCK = 16 };

/* Runs a call of any op. It uses no queue, so that another backend may hand calls on; scratch is
   what hc_exact_scratch asks for. */
hc_kernel hc_exact_run;
size_t hc_exact_scratch(struct hc_queue *queue, const struct hc_call *call);

/* The kernels by op that are compiled for a number type each: for fp32, bf16 and fp16 tensors, and
   for fp64 ones. NULL for the other ops, whose kernels follow. */
extern hc_kernel *const hc_exact_fp32[HC_OP_ROOM];
extern hc_kernel *const hc_exact_fp64[HC_OP_ROOM];

hc_kernel hc_exact_cast, hc_exact_master_to_model, hc_exact_unscale;
hc_kernel hc_exact_sum, hc_exact_dot, hc_exact_sum_squares;
hc_kernel hc_exact_bn_leaky_train, hc_exact_bn_leaky_infer, hc_exact_bn_leaky_bwd;
hc_kernel hc_exact_scaler_update, hc_exact_overflow_verdict, hc_exact_rates, hc_exact_step_log;
hc_kernel hc_exact_clip, hc_exact_augment, hc_exact_im2col, hc_exact_col2im;
hc_kernel hc_exact_quantize, hc_exact_dequantize, hc_exact_delayed_scale;
hc_kernel hc_exact_stochastic_cast;

/* A number for each block. */
size_t hc_exact_quantize_scratch(const struct hc_call *call);

/* gemm with sums in fp16 (half_accumulator); needs no scratch. */
enum hc_status hc_exact_gemm_half(const struct hc_call *call);

/* gemm_q, and what it packs. */
hc_kernel hc_exact_gemm_q;
size_t hc_exact_gemm_q_scratch(const struct hc_call *call);

#endif
