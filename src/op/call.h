/* One call of an operation, and every operation's contract.

   Throughout: round_F is round-to-nearest-even into format F; "fp32:" says that the arithmetic
   after it is fp32, each operation rounded once, never contracted; u is the unit roundoff. Where
   the class is ELEMENTWISE, OPTIMIZER or CONTROL the stated order is binding and every backend
   gives the same bits. An output may be the same tensor as an input of the same shape and format in
   these classes; in no other class may tensors overlap. A NaN that is copied (outputs of a step
   that is left out, in3 of unscale, rows and scalars of a journal) keeps all bits; one that is cast
   to nearest among H, also by master_to_model, keeps its sign and the upper bits of its payload and
   becomes quiet (from bf16 to fp32 all bits stay), unless the backend says canonical_nan. Otherwise
   NaN's payload and sign are free. Empty tensors are legal and touch nothing; the sum over nothing
   is +0. A kernel that lacks a combination of formats returns HC_UNSUPPORTED and touches nothing.
   Formats marked H are any of fp32, bf16, fp16. Parameters that are given as double are taken as
   fp32, those of the optimizers as fp64. The network's ops (gemm, conv2d*, bn_*, leaky_relu*,
   avg_pool*, xent*) and the optimizers can be had in fp64, too: then all their tensors but i32,
   hyper and found are fp64, and so is the arithmetic, wherever fp32 is said of them. */
#ifndef HC_OP_CALL_H
#define HC_OP_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "op/control.h"
#include "op/conv.h"
#include "op/counts.h"
#include "op/elementwise.h"
#include "op/gemm.h"
#include "op/loss.h"
#include "op/norm.h"
#include "op/op.h"
#include "op/optimizer.h"
#include "op/reduction.h"
#include "op/status.h"
#include "op/tensor.h"

/* cast: out0 = in0 rounded in `direction` (any two formats but u8). NaN goes to NaN, infinities as
   hc_encode says. What is too large for e4m3, which has no infinity, becomes NaN, as infinities do:
   OCP's non-saturating mode (a saturating one, as of CUDA's __NV_SATFINITE, would give 448); in
   e5m2, fp16 and bf16 it becomes infinite, or the largest number where `direction` leads towards
   zero. Integers saturate and take NaN to 0. */
struct hc_cast {
    enum hc_direction direction;
};

/* add, sub, mul, div, sqrt, fma: out0 = the real result on the inputs' values rounded once to
   nearest; all operands of one format, H or fp64. No parameters. */

/* axpy: out0 = round(fp32: fma(alpha, x, y)); x, y, out0 each H; alpha as fp32. */
struct hc_axpy {
    double alpha;
};

/* scale: out0 = round(fp32: x * s); in0 = x (H), in1 = s (fp32 [1]); out0 H. No parameters. */

/* unscale: in0 = x (H), in1 = s (fp32 [1]), in2 = found (fp32 [1]; absent: 0), in3 = override (fp32;
   absent: nothing), out0 H (fp32 with in3), out1 = found (fp32 [1]). Where in2 is not 0 and in3 is there
   out0 = in3, which may be out0 itself (in2 may not be out1): fastai 1.0.61's gradients that are not copied. Otherwise
   out0 = round(fp32: x / s), or with `reciprocal` round(fp32: x * r), r = 1/s taken in fp64
   and rounded to fp32 (torch's GradScaler). out1 = 1 if in2 is not 0 or any x is infinite or NaN,
   else 0; out1 may be in2 itself. The detector looks at x, before the division. */
struct hc_unscale {
    bool reciprocal;
};

/* sum: out0 [1] = sum of in0. dot: out0 [1] = sum of in0[i] * in1[i]. Inputs and output H, both
   inputs of one format. Products and partial sums are rounded into `accumulator` (fp32, or the
   inputs' own 16-bit format); with fp32 the order is free, otherwise it is 0, 1, 2, ... .
   sum_squares: out0 (fp32 [1]) = in1 + sum of in0[i]^2; in0 H, in1 = partial (fp32 [1], not below 0;
   absent: 0), which may be out0 itself: several calls sum over several tensors. The accumulator is fp32,
   to nearest, never a matrix unit's; the order is free, fused or not. What goes beyond fp32 is infinite. */
struct hc_reduce {
    enum hc_format accumulator;
};

/* gemm: out0[m, n] = round(alpha * sum_k opA[m, k] opB[k, n] + beta * C[m, n]); in0 = A, in1 = B
   (H, one format), in2 = C (H; rank 1 of length n is broadcast over rows; absent when beta is 0),
   opA = A or its transpose. Row-major. fp32 accumulation, any order, fused or not. With k = 0 the sum
   is +0 whatever alpha is: out0 = round(fp32: 0 + beta * C), of which a zero is +0.
   tf32: an fp32 input may be taken as a tf32 number, rounded to nearest (infinite from 2^128 (1 -
   2^-12) on) or cut; 16-bit inputs have nothing to lose.
   half_accumulator: inputs are fp16, others are refused. alpha and beta are taken as fp16, C is rounded
   into it, and every product and partial sum is rounded or cut to it, in any order, fused or not; what
   passes 65504 on the way is infinite, or 65504 where it is cut. */
struct hc_gemm {
    bool transpose_a;
    bool transpose_b;
    double alpha;
    double beta;
    bool tf32;
    bool half_accumulator;
};

/* conv2d: in0 = x [N, H, W, C], in1 = w [K, R, S, C], out0 = y [N, P, Q, K];
   P = (H + 2 pad - R) / stride + 1.
   conv2d_bwd_data: in0 = dy, in1 = w, out0 = dx.   conv2d_bwd_filter: in0 = x, in1 = dy, out0 = dw.
   Inputs H of one format, output H. fp32 accumulation, any order; one rounding into the output.
   Padding, in all three, is where there is no image: a product of a weight or a gradient with it is
   no term of the sum, also where that factor is infinite or NaN (there is no 0 * inf), and a sum
   without terms is +0. Between the pixels that a stride skips there are no gradients either.
   tf32: as in gemm. */
struct hc_conv {
    int stride;
    int pad;
    bool tf32;
};

/* Batch norm over N, H, W for each channel, M = N H W elements. x, y, dy, dx are H; gamma, beta and
   the statistics are H of their own (fp32 as a rule). fp32 arithmetic.
   bn_train: in0..4 = x, gamma, beta, running mean, running variance;
             out0..4 = y, saved mean (fp32), saved 1/sqrt(var + eps) (fp32), running mean, running
             variance (may be in3, in4 themselves). What is saved is fp32 whatever the statistics'
             format is (fp64 where all is), as torch and cuDNN have it.
     mean = sum x / M; var = sum (x - mean)^2 / M (two passes, biased);
     y = (x - mean) * invstd * gamma + beta, where a backend may fold invstd * gamma;
     running = (1 - momentum) * running + momentum * batch, the variance of the batch unbiased by
     M / (M - 1) (M = 1: biased). fp32: in this order, or r + momentum * (batch - r) as all of our
     own backends have it; where r is infinite, infinite or NaN.
     M = 0 is refused here and in bn_bwd: no elements have no mean.
   bn_infer: in0..4 = x, gamma, beta, mean, variance; out0 = y.
   bn_bwd: in0..4 = x, dy, gamma, saved mean, saved invstd; out0..2 = dx, dgamma, dbeta (H).
     dbeta = sum dy; dgamma = sum dy * xhat; xhat = (x - mean) * invstd;
     dx = gamma * invstd * (dy - dbeta / M - xhat * dgamma / M).
   bn_leaky_train, bn_leaky_infer: as bn_train, bn_infer with z for y, then out0 = y =
     leaky_relu(z), z in out0's format: the rounding in between is part of the contract.
   bn_leaky_bwd: in0..5 = x, y (the output of the forward pass), dy (y's format), gamma, saved mean,
     saved invstd; out0..2 as bn_bwd's on dz = leaky_relu_bwd(y, dy), dz in dy's format.
   slope is theirs alone. */
struct hc_bn {
    double eps;
    double momentum;
    double slope;
};

/* leaky_relu: in0 = x, out0 = x > 0 ? x : round(fp32: slope * x); H. A NaN stays.
   leaky_relu_bwd: in0 = y (the output; its sign is x's), in1 = dy, out0 = y > 0 ? dy : round(fp32:
   slope * dy); H, one format. */
struct hc_leaky {
    double slope;
};

/* avg_pool: in0 = x [N, H, W, C], out0 = y [N, H / window, W / window, C]: fp32 sum in row order,
   divided by window^2, rounded. avg_pool_bwd: in0 = dy, out0 = dx = round(fp32: dy / window^2). H.
   Extents are multiples of the window. */
struct hc_pool {
    int window;
};

/* xent: in0 = logits [N, C] (H), in1 = labels [N] (i32, 0..C-1), out0 = loss [1] (fp32):
     mean over rows (sum with `sum`) of log(sum_j exp(z_j - max z)) - (z_label - max z); fp32, exp
     and log to 2 ulp. The mean is the rows' sum divided by N once, not rows that are divided each.
     N = 0 is refused.
     out1 = right (fp32 [1], or absent): how many rows have their largest logit at the label:
     z_label is no NaN, nothing in the row is larger, and nothing before it is equal.
   xent_bwd: in0 = logits, in1 = labels, in2 = upstream gradient (fp32 [1]; the loss scale),
     out0 = dlogits (H) = round(fp32: (softmax - onehot) * upstream / N), N -> 1 with `sum`. */
struct hc_xent {
    bool sum;
};

/* Optimizers. `hyper` is fp32 [3]: learning rate, beta1 (momentum), step count t (>= 1; the count
   that this step has). `found` is fp32 [1] or absent: when not 0 nothing changes, every output
   gets its input's bytes. A state tensor's input and output have one format; it may be updated in
   place. `arithmetic` is fp32, or a 16-bit format into which every intermediate
   result is rounded; in1 (the gradient) is H.
   sgd: in0..5 = w, g, momentum, hyper, found, c; out0..2 = w, momentum, c.
     g' = g + weight_decay * w (not if decoupled: then w first becomes w * (1 - lr * weight_decay));
     v = beta1 * v + g'; w = w - lr * (nesterov ? g' + beta1 * v : v).
     rate_inside: v holds the rate: d = lr * g'; v = beta1 * v + d; w = w - (nesterov ? d + beta1 *
     v : v) (davidcpage/cifar10-fast torch_backend.py, nesterov_update, whose v is this one's
     negative: no rounding to nearest sees that).
   adam, adamw: in0..6 = w, g, m, v, hyper, found, c; out0..3 = w, m, v, c.
     adam: g' = g + weight_decay * w; adamw: g' = g and w becomes w * (1 - lr * weight_decay) first;
     m = beta1 * m + (1 - beta1) * g'; v = beta2 * v + (1 - beta2) * g' * g';
     w = w - lr / (1 - beta1^t) * (m / (sqrt(v) / sqrt(1 - beta2^t) + eps))
     (eps_inside: m / sqrt(v / (1 - beta2^t) + eps)). `order` says whose roundings: our own, those
     of PyTorch's fused kernel, of its loop over tensors, or apex's (which takes beta2 as fp32);
     each is stated in kernels/element/adam.h. torch-fused and apex have arithmetic of fp32 alone;
     eps_inside and c are for our own order alone.
   Coefficients that depend on hyper and the parameters alone are computed in fp64 and rounded once
   into the arithmetic's format (into fp32 for orders that are not ours). beta^t is a product of
   squares: from 1, for each bit of t from the lowest on, times the square that belongs to the bit,
   each product and square rounded to fp64 (kernels/element/beta_power.h); t is an integer from 1 to 2^24.
   sgd has no dampening: the gradient enters the momentum whole, at the first step, too (v begins as
   0, so that torch's first step, which copies the gradient, is the same). Decay that is added to
   the gradient is left out where weight_decay is 0, so that an infinite weight keeps a finite
   gradient.
   c (absent: none; as input and output alike) compensates w, which is bf16 or fp16, in arithmetic
   of fp32 or of w's format: w + c is the weight, of which w is what its format holds, and to which
   the update is added, decay included (kernels/element/kahan.h).
   stochastic: the new w, of fp32 arithmetic, is rounded into bf16, its only format, by
   num/stochastic.h instead of to nearest. Element i of w is element first + i of step t under the
   seed; first is a multiple of HC_ROUND_BLOCK, and with it a call on a piece gives what a call on
   all gives there. Not with c. */
struct hc_stochastic {
    bool on;
    uint64_t seed;
    int64_t first;
};

struct hc_sgd {
    double weight_decay;
    bool decoupled;
    bool nesterov;
    bool rate_inside;
    enum hc_format arithmetic;
    struct hc_stochastic stochastic;
};

enum hc_adam_order {
    HC_ORDER_OURS,
    HC_ORDER_TORCH_FUSED,
    HC_ORDER_TORCH_LOOP,
    HC_ORDER_APEX,
    HC_ORDER_COUNT
};

extern const char *const hc_adam_order_names[HC_ORDER_COUNT + 1]; /* ends with NULL */

struct hc_adam {
    double beta2;
    double eps;
    double weight_decay;
    bool eps_inside;
    enum hc_adam_order order;
    enum hc_format arithmetic;
    struct hc_stochastic stochastic;
};

/* master_to_model: in0 = masters (fp32), out0 = model copy (H), rounded to nearest. */

/* What a training step reads and writes instead of asking the host. `counts` is i32 [HC_COUNTS]
   (op/counts.h), none below 0.
   rates: in0 = table (fp32 [n, 2]: learning rate, beta1 of each step), in1 = counts, out0 = hyper of
     the optimizers (fp32 [3]): the row of counts.steps, the last where there are no more, and
     counts.taken + 1 rounded once. n = 0 is refused.
   journal: in0 = journal (fp32 [n, 4]), in1 = counts, in2..5 = scalars (fp32 [1], absent: 0), out0 =
     the journal (may be in0 itself), in which row counts.steps mod n has become the four scalars.
     n = 0 is refused. */

/* scaler_update: in0 = scale (fp32 [1]), in1 = counts (i32 [8]), in2 = found (fp32 [1]) or absent:
   not found; out0 = scale, out1 = counts. One step of a loss scaler's rule, given as data:
     steps += 1; found += 1 if in2 is not 0 (a NaN is not 0).
     The step is seen to have overflowed if in2 is not 0 and not scale <= min_checked_scale; with `error_at_floor` also
     where
       scale is 0, whatever in2: the system divides by it (Python's 1 / 0).
     Seen: skipped += 1 with `skip_on_overflow`, or with `wait_for_first_step` where taken is 0, else taken += 1; clean = 0
     unless keep_clean. If
       `error_at_floor` and scale is 0: gave_up = 1, the scale stays. Else if held_back + 1 < hysteresis:
       held_back += 1, the scale stays. Else if `error_at_floor` and scale = floor: gave_up = 1, the scale
       stays. Else scale = max(round(scale * backoff), floor).
     Not seen: taken += 1; clean += 1; n = clean - delay. With `refill_hysteresis` held_back = 0. Growth is due
     if interval is not 0 and
       HC_WHEN_EQUAL: n = interval; HC_WHEN_REACHED: n >= interval; HC_WHEN_MULTIPLE: n > 0 is a
       multiple of interval. With HC_CAP_BELOW it is not due unless scale < max_scale. If due: held_back
       = 0; clean = 0 unless HC_WHEN_MULTIPLE; scale = s = round(scale * growth), with HC_CAP_CLAMP
       min(max_scale, s), with HC_CAP_FINITE scale itself where s is infinite or NaN.
   decide: in0 = scale, in1 = counts, in2 = found, as above, before the step; out0 = fp32 [2]: 1 if
   the step
     is seen to have overflowed, and 1 if it is then one that is counted as skipped; else 0.
   round is to fp32. A scale that is NaN stays NaN. Counts (op/counts.h) stay below 2^31. */
enum hc_growth_when { HC_WHEN_EQUAL, HC_WHEN_REACHED, HC_WHEN_MULTIPLE };
enum hc_cap { HC_CAP_NONE, HC_CAP_BELOW, HC_CAP_CLAMP, HC_CAP_FINITE };

struct hc_scaler_update {
    float growth;
    float backoff;
    float min_checked_scale; /* infinite: never looks; negative: always */
    float floor;             /* 0: none */
    float max_scale;         /* the cap */
    enum hc_cap cap;
    enum hc_growth_when when;
    int32_t interval; /* 0: never grows */
    int32_t delay;
    int32_t hysteresis;    /* 0 and 1: none */
    bool skip_on_overflow; /* only where it always looks */
    bool
        wait_for_first_step; /* until a step is not seen, no step is taken: there are no gradients yet */
    bool keep_clean;
    bool error_at_floor;
    bool refill_hysteresis; /* hysteresis begins again at each clean step, not only at growth */
};

/* clip: in0 = s (fp32 [1]), the sum of the gradients' squares, in1 = held (fp32 [1]) or absent; out0 =
     c (fp32 [1]), what the gradients are to be multiplied with. 1 where in1 is not 0 (fastai 1.0.61
     clips no gradients that it has not copied). Else, in fp32 and as torch has it (torch/nn/utils/clip_grad.py,
     _clip_grads_with_norm_; a number over a tensor is the tensor's reciprocal times the number:
     torch/_tensor.py, __rdiv__): d = sqrt(s) + 1e-6; c = (1 / d) * max_norm, 1 where that is more.
     A NaN stays; an infinite s gives 0. max_norm is finite and not below 0. */
struct hc_clip {
    double max_norm;
};

/* augment: a batch out of a set of images.
     in0 = pixels (u8 [N, H, W, 3]), in1 = labels (i32 [N]), in2 = steps (i32, its first element
     s >= 0: how many batches came before), in3 = order (i32 [n], numbers of images) or absent;
     out0 = images (H [B, H, W, 3]), out1 = labels (i32 [B]), out2 = steps (i32 [1]; may be in2) or
     absent: s + 1.
   Epoch e = s / batches, batch b = s mod batches. Image i of the batch is number k = b B + i of the
   epoch: image order[k], or image k without an order; where k is n (N) or more, image and label
   are 0.
   Values are round_H(round_fp32(v)), v in fp64, each operation rounded once:
     v = (pixel / 255 - mean[c]) / deviation[c].
   With `crops` an image is padded by `pad` on every side, by reflection that does not repeat the
   edge (-1 -> 1, W -> W - 2; pad < H, W), cut to H x W somewhere, and flipped from left to right half
   of the time. Of the 64 bits of hc_random(seed, "CROP" 2^32 + e, image) bits 0 to 23 give the rows
   to go down, 24 to 47 the columns to go right, as bits (2 pad + 1) >> 24, less pad; bit 63 flips.
   Pixel (y, x) is then pixel (y + down, x' + right) of the image, x' = x or W - 1 - x. */
struct hc_augment {
    uint64_t seed;
    int64_t batches; /* in an epoch; > 0 */
    int pad;
    bool crops;
    double mean[3];
    double deviation[3];
};

#define HC_CROP_STREAM 0x43524f5000000000u /* "CROP" 2^32 */

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
    struct hc_xent xent;
    struct hc_sgd sgd;
    struct hc_adam adam;
    struct hc_augment augment;
    struct hc_scaler_update scaler;
    struct hc_clip clip;
};

/* scratch: as many bytes as the backend's scratch query asked for, aligned to 64; NULL when none. */
struct hc_call {
    enum hc_op op;
    struct hc_tensor in[HC_MAX_IN];
    struct hc_tensor out[HC_MAX_OUT];
    union hc_params params;
    void *scratch;
};

/* Whether the call keeps its op's contract: slots, formats, shapes and parameters. HC_INVALID with
   a line otherwise. The runner asks before every call; kernels rely on it. */
enum hc_status hc_call_check(const struct hc_call *call);

/* Whether it is a call of the network's ops in fp64. */
bool hc_call_fp64(const struct hc_call *call);

/* Whether the call's inputs may be taken as tf32: its parameter says so, and they are fp32. */
bool hc_call_tf32(const struct hc_call *call);

#endif
