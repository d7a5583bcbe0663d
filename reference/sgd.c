/* SGD with momentum. */
#include "reference/compensate.h"
#include "reference/decay.h"

hc_reference hc_reference_sgd;
void hc_reference_sgd(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_sgd *p = &call->params.sgd;
    double lr = hc_tensor_get(&call->in[3], 0);
    double beta = hc_tensor_get(&call->in[3], 1);
    mpfr_t w;
    mpfr_t g;
    mpfr_t v;
    mpfr_t c;
    mpfr_t t;
    bool skipped = call->in[4].data && hc_tensor_get(&call->in[4], 0) != 0;
    mpfr_inits2(precision, w, g, v, c, t, (mpfr_ptr)0);
    hc_load_real(w, &call->in[0], e->index);
    hc_load_real(g, &call->in[1], e->index);
    hc_load_real(v, &call->in[2], e->index);
    if (!skipped) {
        if (p->decoupled)
            hc_decay(w, lr, p->weight_decay);
        else if (p->weight_decay != 0)
            hc_add_decay(g, w, p->weight_decay);
        if (p->rate_inside)
            mpfr_mul_d(g, g, lr, MPFR_RNDN);
        mpfr_mul_d(v, v, beta, MPFR_RNDN);
        mpfr_add(v, v, g, MPFR_RNDN);
        mpfr_mul_d(t, v, beta, MPFR_RNDN);
        mpfr_add(t, t, g, MPFR_RNDN);
        mpfr_mul_d(t, p->nesterov ? t : v, p->rate_inside ? 1 : lr, MPFR_RNDN);
        mpfr_sub(w, w, t, MPFR_RNDN);
    }
    if (call->in[5].data) {
        hc_load_real(c, &call->in[5], e->index);
        if (!skipped) {
            mpfr_add(w, w, c, MPFR_RNDN);
            mpfr_set(c, w, MPFR_RNDN);
            hc_left_over(c, call->in[0].format);
        }
    }
    hc_split(e->out == 0 ? w : e->out == 1 ? v : c, want);
    mpfr_clears(w, g, v, c, t, (mpfr_ptr)0);
}
