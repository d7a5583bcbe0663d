/* SGD with momentum on one element. This text is the contract of its roundings: R(x) is the fp32
   result of one operation, rounded once more into `arithmetic` unless that is fp32. Operands are
   taken as they are stored; w uses this step's v before v is rounded into its storage. In fp64
   calls every R is one rounding to fp64 (number.h).

     w  = R(w * keep)                                      decoupled
     g' = R(g + R(wd * w)), or g                           not decoupled and weight_decay not 0
     v  = R(R(beta1 * v) + g')
     w  = R(w - R(lr * (nesterov ? R(g' + R(beta1 * v)) : v)))

   or with rate_inside

     d  = R(lr * g')
     v  = R(R(beta1 * v) + d)
     w  = R(w - (nesterov ? R(d + R(beta1 * v)) : v))

   With a compensation c the weight stays w until kahan.h adds its update

     u = R(what is subtracted from w above + R(decay * w)) decoupled
     u = what is subtracted from w above                   not decoupled

   keep = 1 - lr * weight_decay and decay = lr * weight_decay are computed in fp64. These, wd, beta1
   and lr are rounded once into `arithmetic`. */
#ifndef HC_KERNELS_ELEMENT_SGD_H
#define HC_KERNELS_ELEMENT_SGD_H

#include "kernels/element/kahan.h"
#include "kernels/element/round.h"
#include "op/call.h"

/* The coefficients of one step. */
struct hc_sgd_step {
    hc_number lr;
    hc_number beta1;
    hc_number wd;
    hc_number keep;
    hc_number decay;
    int decoupled; /* w is decayed */
    int coupled;   /* wd * w goes into the gradient */
    int nesterov;
    int rate_inside;
};

/* hyper: HC_HYPER_LR, HC_HYPER_BETA1, HC_HYPER_STEP. */
HC_INLINE struct hc_sgd_step hc_sgd_coefficients(const struct hc_sgd *params,
                                                 const float hyper[HC_HYPER_COUNT])
{
    enum hc_format f = params->arithmetic;
    double lr = (double)hyper[HC_HYPER_LR];
    struct hc_sgd_step step;
    step.lr = hc_coefficient(f, lr);
    step.beta1 = hc_coefficient(f, (double)hyper[HC_HYPER_BETA1]);
    step.wd = hc_coefficient(f, params->weight_decay);
    step.keep = hc_coefficient(f, 1 - lr * params->weight_decay);
    step.decay = hc_coefficient(f, lr * params->weight_decay);
    step.decoupled = params->decoupled;
    step.coupled = !params->decoupled && params->weight_decay != 0;
    step.nesterov = params->nesterov;
    step.rate_inside = params->rate_inside;
    return step;
}

/* What is subtracted from the weight. `f` is `arithmetic`; if it is a constant, the loop around
   this call has no branch. */
HC_INLINE hc_number hc_sgd_update(enum hc_format f, const struct hc_sgd_step *step,
                                  hc_number weight, hc_number g, hc_number *v)
{
    hc_number grad = step->coupled ? hc_into(f, g + hc_into(f, step->wd * weight)) : g;
    hc_number d = step->rate_inside ? hc_into(f, step->lr * grad) : grad;
    hc_number velocity = hc_into(f, hc_into(f, step->beta1 * *v) + d);
    hc_number along =
        step->nesterov ? hc_into(f, d + hc_into(f, step->beta1 * velocity)) : velocity;
    *v = velocity;
    return step->rate_inside ? along : hc_into(f, step->lr * along);
}

HC_INLINE void hc_element_sgd(enum hc_format f, const struct hc_sgd_step *step, hc_number *w,
                              hc_number g, hc_number *v)
{
    hc_number weight = step->decoupled ? hc_into(f, *w * step->keep) : *w;
    *w = hc_into(f, weight - hc_sgd_update(f, step, weight, g, v));
}

/* `stored` is w's format. */
HC_INLINE void hc_element_sgd_kahan(enum hc_format f, enum hc_format stored,
                                    const struct hc_sgd_step *step, hc_number *w, hc_number g,
                                    hc_number *v, hc_number *c)
{
    hc_number u = hc_sgd_update(f, step, *w, g, v);
    hc_kahan(f, stored, w, c, step->decoupled ? hc_into(f, u + hc_into(f, step->decay * *w)) : u);
}

#endif
