/* What a training step reads, counts and decides on the device, so that the host need not be asked:
   the loss scale, hyperparameters, a log of the steps, the factor that clips gradients, and the
   batch of images. Every backend gives the same bits; round is to fp32.

   `counts` is i32 [HC_COUNTS] (op/counts.h). None is below 0, and all stay below 2^31. A flag such
   as found_inf is set if it is not 0, so that a NaN sets it. */
#ifndef HC_OP_CONTROL_H
#define HC_OP_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* scaler_update: one step of a loss scaler's rule, given as data.
     scale       fp32 [1]
     counts      i32 [HC_COUNTS]
     found_inf   fp32 [1], optional (0)
     new_scale   fp32 [1]; may be scale itself
     new_counts  i32 [HC_COUNTS]; may be counts itself

       steps++
       if found_inf: found++
       overflow = found_inf and not scale <= min_checked_scale
       if error_at_floor and scale == 0: overflow = 1     (the system divides by it: Python's 1 / 0)

       if overflow:
           if skip_on_overflow or (wait_for_first_step and taken == 0): skipped++   else: taken++
           if !keep_clean: clean = 0
           if error_at_floor and scale == 0:             gave_up = 1
           else if held_back + 1 < hysteresis:           held_back++
           else if error_at_floor and scale == floor:    gave_up = 1
           else:                                         scale = max(round(scale * backoff), floor)
       else:
           taken++
           clean++
           if refill_hysteresis: held_back = 0
           n = clean - delay
           due = interval != 0 and (HC_WHEN_EQUAL:    n == interval
                                    HC_WHEN_REACHED:  n >= interval
                                    HC_WHEN_MULTIPLE: n > 0 and n mod interval == 0)
           if HC_CAP_BELOW: due = due and scale < max_scale
           if due:
               held_back = 0
               if !HC_WHEN_MULTIPLE: clean = 0
               s = round(scale * growth)
               HC_CAP_CLAMP: s = min(max_scale, s)
               HC_CAP_FINITE: s = scale if s is infinite or NaN
               scale = s

   A scale that is NaN stays NaN. */
enum { HC_SCALER_SCALE, HC_SCALER_COUNTS, HC_SCALER_FOUND_INF };
enum { HC_SCALER_NEW_SCALE, HC_SCALER_NEW_COUNTS };

enum hc_growth_when { HC_WHEN_EQUAL, HC_WHEN_REACHED, HC_WHEN_MULTIPLE };
enum hc_cap { HC_CAP_NONE, HC_CAP_BELOW, HC_CAP_CLAMP, HC_CAP_FINITE };

struct hc_scaler_update {
    float growth;
    float backoff;
    float min_checked_scale; /* infinite: an overflow is never looked for; negative: always */
    float floor;             /* 0: none */
    float max_scale;
    enum hc_cap cap;
    enum hc_growth_when when;
    int32_t interval; /* 0: never grows */
    int32_t delay;
    int32_t hysteresis;       /* 0 and 1: none */
    bool skip_on_overflow;    /* only where an overflow is always looked for */
    bool wait_for_first_step; /* until a step without overflow no step is taken: there are no
                                 gradients yet */
    bool keep_clean;
    bool error_at_floor;
    bool refill_hysteresis; /* hysteresis begins again at each clean step, not only at growth */
};

/* overflow_verdict: what the same rule says of a step before it is taken. It reads what
   scaler_update reads, and takes the same parameters.
     out         fp32 [2]: overflowed (1 if `overflow` above), skipped (1 if that step is then
                 counted as skipped); else 0 */
enum { HC_VERDICT_OUT };
enum { HC_VERDICT_OVERFLOWED, HC_VERDICT_SKIPPED, HC_VERDICT_ELEMENTS };

/* rates: the optimizers' hyper from a table of one row a step. The row is that of counts.steps, the
   last one where there are no more.
     table       fp32 [n, 2]: learning rate and beta1 of each step; n = 0 is refused
     counts      i32 [HC_COUNTS]
     hyper       fp32 [3]: the row, and counts.taken + 1 rounded once */
enum { HC_RATES_TABLE, HC_RATES_COUNTS };
enum { HC_RATES_HYPER };                                /* elements: HC_HYPER_LR, ... */
enum { HC_TABLE_LR, HC_TABLE_BETA1, HC_TABLE_COLUMNS }; /* of the table */

/* step_log: row counts.steps mod n of a log becomes the four scalars; the other rows stay.
     rows        fp32 [n, 4]; n = 0 is refused
     counts      i32 [HC_COUNTS]
     scalar0, scalar1, scalar2, scalar3  fp32 [1], optional (0): slots HC_STEP_LOG_SCALARS + i
     new_rows    fp32 [n, 4]; may be rows itself */
enum { HC_STEP_LOG_COLUMNS = 4 };
enum { HC_STEP_LOG_ROWS, HC_STEP_LOG_COUNTS, HC_STEP_LOG_SCALARS };
enum { HC_STEP_LOG_NEW_ROWS };

/* clip: the factor c that gradients are multiplied by to keep their norm within max_norm.
     sum_squares  fp32 [1]: s, the sum of the gradients' squares
     overflowed   fp32 [1], optional (0): if not 0, c = 1 (fastai 1.0.61 clips no gradients that it
                  has not copied)
     factor       fp32 [1]: c; may be sum_squares itself
   In fp32 and in PyTorch's order (torch/nn/utils/clip_grad.py, _clip_grads_with_norm_; a number
   over a tensor is the tensor's reciprocal times the number: torch/_tensor.py, __rdiv__):
   d = sqrt(s) + 1e-6; c = (1 / d) * max_norm, but at most 1. A NaN stays NaN, and an infinite s
   gives 0. max_norm is finite and not below 0. */
enum { HC_CLIP_SUM_SQUARES, HC_CLIP_OVERFLOWED };
enum { HC_CLIP_FACTOR };

struct hc_clip {
    double max_norm;
};

/* augment: a batch of B images out of a set of N.
     pixels        u8 [N, H, W, 3]
     labels        i32 [N]
     steps         i32; its first element s >= 0 is the number of batches that came before
     order         i32 [n], optional: numbers of images
     images        [B, H, W, 3]: float
     image_labels  i32 [B]; never the tensor of labels
     new_steps     i32 [1], optional: s + 1; may be steps itself
   Epoch e = s / batches, batch b = s mod batches. Image i of the batch is number k = b B + i of the
   epoch: image order[k], or image k without an order. Where k is n (N) or more, image and label are
   0. Values are round(round_fp32(v)), v in fp64, each operation rounded once:
     v = (pixel / 255 - mean[c]) / deviation[c].
   With `crops` an image is padded by `pad` on every side, by reflection that does not repeat the
   edge (-1 -> 1, W -> W - 2; pad < H, W), cut to H x W somewhere, and flipped from left to right
   half of the time. In hc_random(seed, "CROP" 2^32 + e, image), which has 64 bits, bits 0 to 23
   give the rows to go down and 24 to 47 the columns to go right, as bits (2 pad + 1) >> 24, less
   pad; bit 63 flips. Pixel (y, x) is then pixel (y + down, x' + right) of the image, with x' = x or
   W - 1 - x. */
enum { HC_AUGMENT_PIXELS, HC_AUGMENT_LABELS, HC_AUGMENT_STEPS, HC_AUGMENT_ORDER };
enum { HC_AUGMENT_IMAGES, HC_AUGMENT_IMAGE_LABELS, HC_AUGMENT_NEW_STEPS };

struct hc_augment {
    uint64_t seed;
    int64_t batches; /* in an epoch; > 0 */
    int pad;
    bool crops;
    double mean[3];
    double deviation[3];
};

#define HC_CROP_STREAM 0x43524f5000000000u /* "CROP" 2^32 */

#endif
