/* Optimizers. Every backend gives the same bits.

   Slots that sgd and adam share:
     w             the weights: float or fp64
     g             the gradient: float
     hyper         fp32 [3]: learning rate, beta1 (SGD's momentum) and step, the number t >= 1 of
                   this step
     found_inf     fp32 [1], optional (0): if it is not 0 nothing changes, and every output gets its
                   input's bytes
     compensation  w's format, optional; as input and output, or neither
   All but hyper and found_inf are fp64 if w is. An output new_X has X's format and may be X itself.

   `arithmetic` is fp32, or a 16-bit format into which every intermediate result is rounded.
   Coefficients that depend on hyper and on parameters alone are computed in fp64 and rounded once
   into the arithmetic's format (into fp32 for orders that are not ours). beta^t is a product of
   squares: from 1, for each bit of t from the lowest on, times the square that belongs to the bit,
   each product and square rounded to fp64 (kernels/element/beta_power.h); t is an integer from 1 to
   2^24. Decay that is added to the gradient is left out where weight_decay is 0, so that an
   infinite weight keeps a finite gradient.

   Compensation: w, in bf16 or fp16, is what its format holds of the weight w + compensation, to
   which the update, decay included, is added (kernels/element/kahan.h). Arithmetic is fp32 or w's
   format. */
#ifndef HC_OP_OPTIMIZER_H
#define HC_OP_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "num/format.h"
#include "op/op.h"

/* Elements of hyper; the op `rates` writes it. */
enum { HC_HYPER_LR, HC_HYPER_BETA1, HC_HYPER_STEP, HC_HYPER_COUNT };

/* Stochastic rounding: the new w, of fp32 arithmetic, is rounded into bf16, its only format, by
   num/stochastic.h instead of to nearest. Element i of w is element first + i of step t under the
   seed. `first` is a multiple of HC_ROUND_BLOCK, and with it a call on a part of a tensor gives
   what a call on the whole gives there. Not together with a compensation. */
struct hc_stochastic {
    bool on;
    uint64_t seed;
    int64_t first;
};

/* sgd
     momentum      float; called v below

       if decoupled: w = w * (1 - lr * weight_decay);   g' = g
       else:         g' = g + weight_decay * w
       if rate_inside:
           d = lr * g'
           v = beta1 * v + d
           w = w - (nesterov ? d + beta1 * v : v)
       else:
           v = beta1 * v + g'
           w = w - lr * (nesterov ? g' + beta1 * v : v)

   rate_inside is nesterov_update of davidcpage/cifar10-fast, torch_backend.py, whose v is the
   negative of this one; no rounding to nearest sees the difference.
   There is no dampening: the gradient enters the momentum whole, at the first step, too. v begins
   as 0, so that PyTorch's first step, which copies the gradient, is the same. */
enum { HC_SGD_W, HC_SGD_G, HC_SGD_MOMENTUM, HC_SGD_HYPER, HC_SGD_FOUND_INF, HC_SGD_COMPENSATION };
enum { HC_SGD_NEW_W, HC_SGD_NEW_MOMENTUM, HC_SGD_NEW_COMPENSATION };

struct hc_sgd {
    double weight_decay;
    bool decoupled;
    bool nesterov;
    bool rate_inside;
    enum hc_format arithmetic;
    struct hc_stochastic stochastic;
};

/* adam, adamw
     m, v          float: first and second moment

       if adamw: w = w * (1 - lr * weight_decay);   g' = g
       else:     g' = g + weight_decay * w
       m = beta1 * m + (1 - beta1) * g'
       v = beta2 * v + (1 - beta2) * g' * g'
       if eps_inside: q = m / sqrt(v / (1 - beta2^t) + eps)
       else:          q = m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
       w = w - lr / (1 - beta1^t) * q */
enum {
    HC_ADAM_W,
    HC_ADAM_G,
    HC_ADAM_M,
    HC_ADAM_V,
    HC_ADAM_HYPER,
    HC_ADAM_FOUND_INF,
    HC_ADAM_COMPENSATION
};
enum { HC_ADAM_NEW_W, HC_ADAM_NEW_M, HC_ADAM_NEW_V, HC_ADAM_NEW_COMPENSATION };

/* Whose roundings: our own, those of PyTorch's fused kernel, of its loop over tensors, or apex's,
   which takes beta2 as fp32. Each is stated in kernels/element/adam.h. torch-fused and apex have
   arithmetic of fp32 alone; eps_inside and compensation are for our own order alone. */
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

/* The slots in code that is generic over the optimizers. m is SGD's momentum, too; v and new_v are
   -1 in sgd. */
struct hc_optimizer_slots {
    int w, g, m, v, hyper, found_inf, compensation;
    int new_w, new_m, new_v, new_compensation;
};

const struct hc_optimizer_slots *hc_optimizer_slots(enum hc_op op);

union hc_params;

/* The parameters that all optimizers have, each of them NULL for other ops. */
const struct hc_stochastic *hc_optimizer_stochastic(enum hc_op op, const union hc_params *params);
enum hc_format *hc_optimizer_arithmetic(enum hc_op op, union hc_params *params);

#endif
