/* One call of an operation. The contract of each op stands in the header of its family, which also
   names its slots: op/elementwise.h, reduction.h, gemm.h, conv.h, norm.h, loss.h, optimizer.h,
   control.h, collective.h and quant.h. op/descriptor.h has the slots as data.

   What holds in all of them:
   - round to a format is to nearest even. "fp32:" says that the arithmetic after it is fp32, each
     operation rounded once and never contracted. "Float" is any of fp32, bf16 and fp16.
   - In the classes ELEMENTWISE, OPTIMIZER, CONTROL, COLLECTIVE and QUANT the stated order is
     binding: every backend gives the same bits. In the first three an output may be the same tensor
     as an input of the same shape and format. In the other classes an output may only be an input
     that it updates, where the contract says so; no other tensors may overlap.
   - A NaN that is copied keeps all its bits: in the outputs of an optimizer step that is left out,
     in the override of unscale, in the rows and scalars of step_log. A NaN that is cast to nearest
     between floats, by master_to_model, too, keeps its sign and the upper bits of its payload and
     becomes quiet (from bf16 to fp32 all bits stay), unless the backend says canonical_nan.
     Otherwise sign and payload of a NaN are free.
   - Empty tensors are legal and touch nothing; the sum over nothing is +0.
   - A kernel that lacks a combination of formats returns HC_UNSUPPORTED and touches nothing.
   - Parameters that are given as double are taken as fp32, in fp64, too; those of the optimizers
     as fp64. Where a struct has `as_given`, references and bounds take its reals as they are: for
     results in fp64 that others have computed. Kernels do not look at it.
   - The ops of a network (gemm, conv2d*, bn_*, leaky_relu*, avg_pool*, xent*), the optimizers and
     all_reduce can be had in fp64, too: then every tensor is fp64 but labels, counts, hyper and
     found_inf, and so is the arithmetic wherever the contract says fp32. */
#ifndef HC_OP_CALL_H
#define HC_OP_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "op/collective.h"
#include "op/control.h"
#include "op/conv.h"
#include "op/counts.h"
#include "op/elementwise.h"
#include "op/gemm.h"
#include "op/loss.h"
#include "op/norm.h"
#include "op/op.h"
#include "op/optimizer.h"
#include "op/quant.h"
#include "op/reduction.h"
#include "op/status.h"
#include "op/tensor.h"

union hc_params {
    struct hc_cast cast;
    struct hc_axpy axpy;
    struct hc_unscale unscale;
    struct hc_reduce reduce;
    struct hc_gemm gemm;
    struct hc_conv conv;
    struct hc_bn bn;
    struct hc_leaky leaky;
    struct hc_pool pool;
    struct hc_columns columns;
    struct hc_xent xent;
    struct hc_sgd sgd;
    struct hc_adam adam;
    struct hc_augment augment;
    struct hc_scaler_update scaler;
    struct hc_clip clip;
    struct hc_all_reduce all_reduce;
    struct hc_quantize quantize;
    struct hc_dequantize dequantize;
    struct hc_delayed_scale delayed_scale;
    struct hc_gemm_q gemm_q;
    struct hc_stochastic_cast stochastic_cast;
    unsigned char later[72]; /* of an op of op/later.h, whose header reads a struct of it */
};

/* `scratch` has as many bytes as the backend's scratch query asked for, aligned to 64; NULL when
   that is 0. */
struct hc_call {
    enum hc_op op;
    struct hc_tensor in[HC_MAX_IN];
    struct hc_tensor out[HC_MAX_OUT];
    union hc_params params;
    void *scratch;
};

/* Whether the call keeps its op's contract: slots, formats, shapes and parameters. HC_INVALID with
   a line that names the slot otherwise. The runner asks before every call; kernels rely on it. */
enum hc_status hc_call_check(const struct hc_call *call);

/* The number of terms in the longest sum that an element of the result takes; 1 where there is no
   sum. */
double hc_call_length(const struct hc_call *call);

/* Sets the format in which the call computes, if its op leaves a choice: the accumulator of a
   reduction, tf32 or a half_accumulator of gemm, tf32 of a convolution, an optimizer's
   arithmetic, the partial sums of all_reduce. */
void hc_call_compute_in(struct hc_call *call, enum hc_format format);

/* Whether it is a call in fp64 of an op that computes in fp32 otherwise. */
bool hc_call_fp64(const struct hc_call *call);

/* Sets `as_given` in a call in fp64. False, and nothing is set, where that changes no number: the
   op has no such parameters, or fp32 holds them. */
bool hc_call_take_as_given(struct hc_call *call);

/* Whether the call's inputs may be taken as tf32: its parameter says so, and they are fp32. */
bool hc_call_tf32(const struct hc_call *call);

#endif
