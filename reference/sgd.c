/* SGD with momentum. */
#include "reference/optimizer.h"

hc_reference hc_reference_sgd;
void hc_reference_sgd(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_sgd *p = &call->params.sgd;
    double lr = hc_tensor_get(&call->in[HC_SGD_HYPER], HC_HYPER_LR);
    double beta = hc_tensor_get(&call->in[HC_SGD_HYPER], HC_HYPER_BETA1);
    mpfr_t w;
    mpfr_t g;
    mpfr_t v;
    mpfr_t c;
    mpfr_t t;
    bool skipped = hc_is_set(&call->in[HC_SGD_FOUND_INF]);
    mpfr_inits2(precision, w, g, v, c, t, (mpfr_ptr)0);
    hc_load_real(w, &call->in[HC_SGD_W], e->index);
    hc_load_real(g, &call->in[HC_SGD_G], e->index);
    hc_load_real(v, &call->in[HC_SGD_MOMENTUM], e->index);
    if (!skipped) {
        if (p->decoupled)
            hc_decay_weight(w, lr, p->weight_decay);
        else if (p->weight_decay != 0)
            hc_decay_gradient(g, w, p->weight_decay);
        if (p->rate_inside)
            mpfr_mul_d(g, g, lr, MPFR_RNDN);
        mpfr_mul_d(v, v, beta, MPFR_RNDN);
        mpfr_add(v, v, g, MPFR_RNDN);
        mpfr_mul_d(t, v, beta, MPFR_RNDN);
        mpfr_add(t, t, g, MPFR_RNDN);
        mpfr_mul_d(t, p->nesterov ? t : v, p->rate_inside ? 1 : lr, MPFR_RNDN);
        mpfr_sub(w, w, t, MPFR_RNDN);
    }
    if (call->in[HC_SGD_COMPENSATION].data) {
        hc_load_real(c, &call->in[HC_SGD_COMPENSATION], e->index);
        if (!skipped)
            hc_compensate(w, c, call->in[HC_SGD_W].format);
    }
    hc_split(e->out == HC_SGD_NEW_W ? w : e->out == HC_SGD_NEW_MOMENTUM ? v : c, want);
    mpfr_clears(w, g, v, c, t, (mpfr_ptr)0);
}
