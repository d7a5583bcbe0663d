/* Adam and AdamW in PyTorch's order. Below R(x) is the fp32 result of one operation rounded into
   `arithmetic` (fp32: as it is). Operands are taken as they are stored; w uses this step's m and v
   before these are rounded into their storage.

     adamw: w  = R(w * keep), g' = g
     adam:  g' = R(g + R(wd * w)), or g when weight_decay is 0
     m = R(R(beta1 * m) + R(rest1 * g'))
     v = R(R(beta2 * v) + R(R(rest2 * g') * g'))
     d = R(R(R(sqrt(v)) / correction) + eps)
     d = R(sqrt(R(R(v / correction) + eps)))             eps_inside
     w = R(w - R(step * R(m / d)))

   With a compensation c the weight stays w until kahan.h adds its update

     u = R(R(step * R(m / d)) + R(decay * w))            adamw
     u = R(step * R(m / d))                              adam

   keep = 1 - lr * weight_decay, decay = lr * weight_decay, rest1 = 1 - beta1, rest2 = 1 - beta2, step = lr / (1 - beta1^t),
   correction = sqrt(1 - beta2^t) (eps_inside: 1 - beta2^t), each in fp64; these and beta1, beta2,
   wd and eps are rounded once into `arithmetic`. */
#ifndef HC_KERNELS_ADAM_H
#define HC_KERNELS_ADAM_H

#include <math.h>

#include "kernels/kahan.h"
#include "kernels/power.h"
#include "kernels/round.h"
#include "op/call.h"

/* The coefficients of one step. */
struct hc_adam_step {
    float step;
    float beta1;
    float rest1;
    float beta2;
    float rest2;
    float correction;
    float eps;
    float wd;
    float keep;
    float decay;
    int decoupled; /* w is decayed: adamw */
    int coupled;   /* wd * w goes into the gradient: adam with a weight_decay other than 0 */
    int eps_inside;
};

/* decoupled: the op is adamw. */
HC_INLINE struct hc_adam_step hc_adam_coefficients(const struct hc_adam *params, int decoupled,
                                                   const float hyper[3])
{
    double lr = (double)hyper[0];
    double beta1 = (double)hyper[1];
    double corrected = 1 - hc_power(params->beta2, hyper[2]);
    enum hc_format f = params->arithmetic;
    struct hc_adam_step s;
    s.step = hc_coefficient(f, lr / (1 - hc_power(beta1, hyper[2])));
    s.beta1 = hc_coefficient(f, beta1);
    s.rest1 = hc_coefficient(f, 1 - beta1);
    s.beta2 = hc_coefficient(f, params->beta2);
    s.rest2 = hc_coefficient(f, 1 - params->beta2);
    s.correction = hc_coefficient(f, params->eps_inside ? corrected : sqrt(corrected));
    s.eps = hc_coefficient(f, params->eps);
    s.wd = hc_coefficient(f, params->weight_decay);
    s.keep = hc_coefficient(f, 1 - lr * params->weight_decay);
    s.decay = hc_coefficient(f, lr * params->weight_decay);
    s.decoupled = decoupled;
    s.coupled = !decoupled && params->weight_decay != 0;
    s.eps_inside = params->eps_inside;
    return s;
}

/* R(step * R(m / d)). `f` is the step's arithmetic: pass a constant, and the loop around this has no
   branch. */
HC_INLINE float hc_adam_update(enum hc_format f, const struct hc_adam_step *s, float weight,
                               float g, float *m, float *v)
{
    float grad = s->coupled ? hc_into(f, g + hc_into(f, s->wd * weight)) : g;
    float mean = hc_into(f, hc_into(f, s->beta1 * *m) + hc_into(f, s->rest1 * grad));
    float square = hc_into(f, hc_into(f, s->rest2 * grad) * grad);
    float variance = hc_into(f, hc_into(f, s->beta2 * *v) + square);
    float denominator =
        s->eps_inside
            ? hc_into(f, sqrtf(hc_into(f, hc_into(f, variance / s->correction) + s->eps)))
            : hc_into(f, hc_into(f, hc_into(f, sqrtf(variance)) / s->correction) + s->eps);
    *m = mean;
    *v = variance;
    return hc_into(f, s->step * hc_into(f, mean / denominator));
}

HC_INLINE void hc_element_adam(enum hc_format f, const struct hc_adam_step *s, float *w, float g,
                               float *m, float *v)
{
    float weight = s->decoupled ? hc_into(f, *w * s->keep) : *w;
    *w = hc_into(f, weight - hc_adam_update(f, s, weight, g, m, v));
}

/* `stored`: w's format. */
HC_INLINE void hc_element_adam_kahan(enum hc_format f, enum hc_format stored,
                                     const struct hc_adam_step *s, float *w, float g, float *m,
                                     float *v, float *c)
{
    float u = hc_adam_update(f, s, *w, g, m, v);
    hc_kahan(f, stored, w, c, s->decoupled ? hc_into(f, u + hc_into(f, s->decay * *w)) : u);
}

#endif
