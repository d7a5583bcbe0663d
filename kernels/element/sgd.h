/* SGD with momentum. Below R(x) is the fp32 result of one operation rounded into `arithmetic`
   (fp32: as it is). Operands are taken as they are stored; w uses this step's v before v is rounded
   into its storage.

     w  = R(w * keep)                                      decoupled
     g' = R(g + R(wd * w)), or g                           not decoupled and weight_decay not 0
     v  = R(R(beta1 * v) + g')
     w  = R(w - R(lr * (nesterov ? R(g' + R(beta1 * v)) : v)))

   or with rate_inside

     d  = R(lr * g')
     v  = R(R(beta1 * v) + d)
     w  = R(w - (nesterov ? R(d + R(beta1 * v)) : v))

   With a compensation c the weight stays w until kahan.h adds its update

     u = R(what is taken off w above + R(decay * w))       decoupled
     u = what is taken off w above                         not decoupled

   keep = 1 - lr * weight_decay, decay = lr * weight_decay in fp64; these, wd, beta1 and lr are rounded once into `arithmetic`. */
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

HC_INLINE struct hc_sgd_step hc_sgd_coefficients(const struct hc_sgd *params, const float hyper[3])
{
    struct hc_sgd_step step;
    step.lr = hc_coefficient(params->arithmetic, (double)hyper[0]);
    step.beta1 = hc_coefficient(params->arithmetic, (double)hyper[1]);
    step.wd = hc_coefficient(params->arithmetic, params->weight_decay);
    step.keep = hc_coefficient(params->arithmetic, 1 - (double)hyper[0] * params->weight_decay);
    step.decay = hc_coefficient(params->arithmetic, (double)hyper[0] * params->weight_decay);
    step.decoupled = params->decoupled;
    step.coupled = !params->decoupled && params->weight_decay != 0;
    step.nesterov = params->nesterov;
    step.rate_inside = params->rate_inside;
    return step;
}

/* What is taken off the weight. `f` is the step's arithmetic: pass a constant, and the loop around this
   has no branch. */
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

/* `stored`: w's format. */
HC_INLINE void hc_element_sgd_kahan(enum hc_format f, enum hc_format stored,
                                    const struct hc_sgd_step *step, hc_number *w, hc_number g,
                                    hc_number *v, hc_number *c)
{
    hc_number u = hc_sgd_update(f, step, *w, g, v);
    hc_kahan(f, stored, w, c, step->decoupled ? hc_into(f, u + hc_into(f, step->decay * *w)) : u);
}

#endif
