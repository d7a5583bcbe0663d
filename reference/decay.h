/* The two kinds of weight decay. */
#ifndef HC_REFERENCE_DECAY_H
#define HC_REFERENCE_DECAY_H

#include "reference/split.h"

/* w becomes w * (1 - lr * weight_decay). */
static inline void hc_decay(mpfr_t w, double lr, double weight_decay)
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
static inline void hc_add_decay(mpfr_t g, mpfr_srcptr w, double weight_decay)
{
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(g));
    mpfr_mul_d(t, w, weight_decay, MPFR_RNDN);
    mpfr_add(g, g, t, MPFR_RNDN);
    mpfr_clear(t);
}

#endif
