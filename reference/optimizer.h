/* What the optimizers share: the two kinds of weight decay, and compensated weights. */
#ifndef HC_REFERENCE_OPTIMIZER_H
#define HC_REFERENCE_OPTIMIZER_H

#include "reference/split.h"

/* w becomes w * (1 - lr * weight_decay). */
static inline void hc_decay_weight(mpfr_t w, double lr, double weight_decay)
{
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(w));
    mpfr_set_d(t, lr, MPFR_RNDN);
    mpfr_mul_d(t, t, weight_decay, MPFR_RNDN);
    mpfr_si_sub(t, 1, t, MPFR_RNDN);
    mpfr_mul(w, w, t, MPFR_RNDN);
    mpfr_clear(t);
}

/* g becomes g + weight_decay * w. */
static inline void hc_decay_gradient(mpfr_t g, mpfr_srcptr w, double weight_decay)
{
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(g));
    mpfr_mul_d(t, w, weight_decay, MPFR_RNDN);
    mpfr_add(g, g, t, MPFR_RNDN);
    mpfr_clear(t);
}

/* Compensation (kernels/element/kahan.h): the weight is w + c. w, already updated, becomes the new
   w + c, and c becomes what w's format does not hold of it: (w + c) - round(w + c). */
static inline void hc_compensate(mpfr_t w, mpfr_t c, enum hc_format format)
{
    struct hc_exact sum;
    mpfr_add(w, w, c, MPFR_RNDN);
    hc_split(w, &sum);
    uint64_t held = hc_encode(format, sum.hi, sum.lo, HC_NEAREST);
    mpfr_sub_d(c, w, hc_decode(format, held), MPFR_RNDN);
}

#endif
