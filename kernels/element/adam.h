/* Adam and AdamW on one element.

   Several systems compute the same real numbers with different roundings; the parameter `order`
   says whose. This text is the contract of these roundings. r(x) is the fp32 result of one
   operation. R(x) is r(x) rounded once more into `arithmetic`; where that is fp32, R(x) is r(x).
   fma rounds once into fp32. Operands are taken as they are stored. w uses this step's m and v
   before they are rounded into their storage. In fp64 calls every r and R is one rounding to fp64
   (number.h).

   HC_ORDER_OURS: every operation is rounded, none is fused.
     adamw: w  = R(w * keep), g' = g
     adam:  g' = R(g + R(wd * w)), or g when weight_decay is 0
     m = R(R(beta1 * m) + R(one_minus_beta1 * g'))
     v = R(R(beta2 * v) + R(R(one_minus_beta2 * g') * g'))
     d = R(R(R(sqrt(v)) / correction) + eps)
     d = R(sqrt(R(R(v / correction) + eps)))             eps_inside
     w = R(w - R(step * R(m / d)))

   With a compensation c the weight stays w until kahan.h adds its update

     u = R(R(step * R(m / d)) + R(decay * w))            adamw
     u = R(step * R(m / d))                              adam

   HC_ORDER_TORCH_LOOP: PyTorch's optimizer as a loop over tensors, or foreach: each call of a
   tensor method computes in fp32 and rounds once into the tensors' format (torch/optim/adam.py,
   _single_tensor_adam, from 2.0 on: lerp_, mul_, addcmul_, sqrt, div, add_, addcdiv_; on the CPU as
   aten/src/ATen/native/cpu/{Lerp,PointwiseOps}Kernel.cpp are compiled with FMA).
     adamw: w  = R(w * keep), g' = g
     adam:  g' = R(fma(wd, w, g)), or g when weight_decay is 0
     m = R(fma(one_minus_beta1, r(g' - m), m))           one_minus_beta1 < 0.5
     m = R(fma(r(one_minus_beta1 - 1), r(g' - m), g'))   otherwise
     v = R(fma(r(one_minus_beta2 * g'), g', R(beta2 * v)))
     d = R(R(R(sqrt(v)) / correction) + eps)
     w = R(w + r(r(-step * m) / d))

   HC_ORDER_TORCH_FUSED: the same formulas with `arithmetic` fp32, whatever the storage
   (aten/src/ATen/native/cpu/FusedAdamKernel.cpp, 2.4 and later, which converts 16-bit tensors
   before and after). Where all tensors are fp32, loop and fused give the same bits.

   HC_ORDER_APEX: `arithmetic` is fp32, too (NVIDIA/apex csrc/multi_tensor_adam.cu, AdamFunctor at
   004da4e, MATH_T float). beta2 is rounded to fp32 before anything is computed from it. Nothing is
   fused here; nvcc may fuse what apex leaves to it.
     adam:  g' = r(g + r(wd * w)), or g when weight_decay is 0
     m = r(r(beta1 * m) + r(one_minus_beta1 * g'))
     v = r(r(beta2 * v) + r(r(one_minus_beta2 * g') * g'))
     u = r(r(m / first) / r(r(sqrt(r(v / second))) + eps))
     adamw: u = r(u + r(wd * w))
     w = r(w - r(lr * u))

   The coefficients are computed in fp64:

     keep = 1 - lr * weight_decay        one_minus_beta1 = 1 - beta1
     decay = lr * weight_decay           one_minus_beta2 = 1 - beta2
     first = 1 - beta1^t                 step = lr / first
     second = 1 - beta2^t                correction = sqrt(second), or second with eps_inside

   These and beta1, beta2, wd, lr and eps are then rounded once: into `arithmetic` in our order,
   into fp32 in the others. The other orders have neither eps_inside nor a compensation. */
#ifndef HC_KERNELS_ELEMENT_ADAM_H
#define HC_KERNELS_ELEMENT_ADAM_H

#include "kernels/element/beta_power.h"
#include "kernels/element/kahan.h"
#include "kernels/element/round.h"
#include "op/call.h"

/* The coefficients of one step. */
struct hc_adam_step {
    enum hc_adam_order order;
    hc_number lr;
    hc_number step;
    hc_number beta1;
    hc_number one_minus_beta1;
    hc_number beta2;
    hc_number one_minus_beta2;
    hc_number first;
    hc_number correction; /* apex: second */
    hc_number eps;
    hc_number wd;
    hc_number keep;
    hc_number decay;
    int decoupled; /* w is decayed: adamw */
    int coupled;   /* wd * w goes into the gradient: adam with a weight_decay other than 0 */
    int eps_inside;
};

/* `decoupled`: the op is adamw. hyper: HC_HYPER_LR, HC_HYPER_BETA1, HC_HYPER_STEP. */
HC_INLINE struct hc_adam_step hc_adam_coefficients(const struct hc_adam *params, int decoupled,
                                                   const float hyper[HC_HYPER_COUNT])
{
    double lr = (double)hyper[HC_HYPER_LR];
    double beta1 = (double)hyper[HC_HYPER_BETA1];
    int apex = params->order == HC_ORDER_APEX;
    double beta2 = apex ? (double)(float)params->beta2 : params->beta2;
    double first = 1 - hc_beta_power(beta1, hyper[HC_HYPER_STEP]);
    double second = 1 - hc_beta_power(beta2, hyper[HC_HYPER_STEP]);
    enum hc_format f = params->order == HC_ORDER_OURS ? params->arithmetic : HC_FP32;
    struct hc_adam_step s;
    s.order = params->order;
    s.lr = hc_coefficient(f, lr);
    s.step = hc_coefficient(f, lr / first);
    s.beta1 = hc_coefficient(f, beta1);
    s.one_minus_beta1 = hc_coefficient(f, 1 - beta1);
    s.beta2 = hc_coefficient(f, beta2);
    s.one_minus_beta2 = hc_coefficient(f, 1 - beta2);
    s.first = hc_coefficient(f, first);
    s.correction = hc_coefficient(f, params->eps_inside || apex ? second : sqrt(second));
    s.eps = hc_coefficient(f, params->eps);
    s.wd = hc_coefficient(f, params->weight_decay);
    s.keep = hc_coefficient(f, 1 - lr * params->weight_decay);
    s.decay = hc_coefficient(f, lr * params->weight_decay);
    s.decoupled = decoupled;
    s.coupled = !decoupled && params->weight_decay != 0;
    s.eps_inside = params->eps_inside;
    return s;
}

/* R(step * R(m / d)) of our own order. `f` is `arithmetic`; if it is a constant, the loop around
   this call has no branch. */
HC_INLINE hc_number hc_adam_update(enum hc_format f, const struct hc_adam_step *s, hc_number weight,
                                   hc_number g, hc_number *m, hc_number *v)
{
    hc_number grad = s->coupled ? hc_into(f, g + hc_into(f, s->wd * weight)) : g;
    hc_number mean = hc_into(f, hc_into(f, s->beta1 * *m) + hc_into(f, s->one_minus_beta1 * grad));
    hc_number square = hc_into(f, hc_into(f, s->one_minus_beta2 * grad) * grad);
    hc_number variance = hc_into(f, hc_into(f, s->beta2 * *v) + square);
    hc_number denominator =
        s->eps_inside
            ? hc_into(f, hc_sqrt(hc_into(f, hc_into(f, variance / s->correction) + s->eps)))
            : hc_into(f, hc_into(f, hc_into(f, hc_sqrt(variance)) / s->correction) + s->eps);
    *m = mean;
    *v = variance;
    return hc_into(f, s->step * hc_into(f, mean / denominator));
}

HC_INLINE void hc_element_adam_ours(enum hc_format f, const struct hc_adam_step *s, hc_number *w,
                                    hc_number g, hc_number *m, hc_number *v)
{
    hc_number weight = s->decoupled ? hc_into(f, *w * s->keep) : *w;
    *w = hc_into(f, weight - hc_adam_update(f, s, weight, g, m, v));
}

/* Both of PyTorch's orders; `f` is fp32 in the fused one. */
HC_INLINE void hc_element_adam_torch(enum hc_format f, const struct hc_adam_step *s, hc_number *w,
                                     hc_number g, hc_number *m, hc_number *v)
{
    hc_number weight = s->decoupled ? hc_into(f, *w * s->keep) : *w;
    hc_number grad = s->coupled ? hc_into(f, hc_fma(s->wd, weight, g)) : g;
    int small = s->one_minus_beta1 < (hc_number)0.5;
    hc_number mean = hc_into(f, hc_fma(small ? s->one_minus_beta1 : s->one_minus_beta1 - 1,
                                       grad - *m, small ? *m : grad));
    hc_number variance =
        hc_into(f, hc_fma(s->one_minus_beta2 * grad, grad, hc_into(f, s->beta2 * *v)));
    hc_number denominator =
        hc_into(f, hc_into(f, hc_into(f, hc_sqrt(variance)) / s->correction) + s->eps);
    *w = hc_into(f, weight + -s->step * mean / denominator);
    *m = mean;
    *v = variance;
}

HC_INLINE void hc_element_adam_apex(const struct hc_adam_step *s, hc_number *w, hc_number g,
                                    hc_number *m, hc_number *v)
{
    hc_number grad = s->coupled ? g + s->wd * *w : g;
    hc_number mean = s->beta1 * *m + s->one_minus_beta1 * grad;
    hc_number variance = s->beta2 * *v + s->one_minus_beta2 * grad * grad;
    hc_number update = mean / s->first / (hc_sqrt(variance / s->correction) + s->eps);
    *w -= s->lr * (s->decoupled ? update + s->wd * *w : update);
    *m = mean;
    *v = variance;
}

HC_INLINE void hc_element_adam(enum hc_format f, const struct hc_adam_step *s, hc_number *w,
                               hc_number g, hc_number *m, hc_number *v)
{
    if (s->order == HC_ORDER_OURS)
        hc_element_adam_ours(f, s, w, g, m, v);
    else if (s->order == HC_ORDER_APEX)
        hc_element_adam_apex(s, w, g, m, v);
    else
        hc_element_adam_torch(f, s, w, g, m, v);
}

/* `stored` is w's format. */
HC_INLINE void hc_element_adam_kahan(enum hc_format f, enum hc_format stored,
                                     const struct hc_adam_step *s, hc_number *w, hc_number g,
                                     hc_number *m, hc_number *v, hc_number *c)
{
    hc_number u = hc_adam_update(f, s, *w, g, m, v);
    hc_kahan(f, stored, w, c, s->decoupled ? hc_into(f, u + hc_into(f, s->decay * *w)) : u);
}

#endif
