/* Adam and AdamW. The orders of roundings differ in their rounding errors alone and all stand for
   these real numbers, except that apex rounds beta2 to fp32. */
#include "reference/optimizer.h"

struct state {
    mpfr_t w, g, m, v, c, t, u;
};

/* v becomes beta * v + (1 - beta) * g. g and t are overwritten. */
static void average(mpfr_t v, mpfr_t g, double beta, mpfr_t t)
{
    mpfr_set_d(t, beta, MPFR_RNDN);
    mpfr_mul(v, v, t, MPFR_RNDN);
    mpfr_si_sub(t, 1, t, MPFR_RNDN);
    mpfr_mul(g, g, t, MPFR_RNDN);
    mpfr_add(v, v, g, MPFR_RNDN);
}

/* t = 1 - beta^steps. */
static void correction(mpfr_t t, double beta, double steps)
{
    mpfr_set_d(t, beta, MPFR_RNDN);
    mpfr_pow_si(t, t, (long)steps, MPFR_RNDN);
    mpfr_si_sub(t, 1, t, MPFR_RNDN);
}

/* The moments alone, or the whole step. */
static void step(struct state *s, const struct hc_adam *p, const double hyper[HC_HYPER_COUNT],
                 bool decoupled, bool moments)
{
    double beta2 = p->order == HC_ORDER_APEX ? (double)(float)p->beta2 : p->beta2;
    if (decoupled)
        hc_decay_weight(s->w, hyper[HC_HYPER_LR], p->weight_decay);
    else if (p->weight_decay != 0)
        hc_decay_gradient(s->g, s->w, p->weight_decay);
    mpfr_sqr(s->u, s->g, MPFR_RNDN);
    average(s->m, s->g, hyper[HC_HYPER_BETA1], s->t);
    average(s->v, s->u, beta2, s->t);
    if (moments)
        return;

    correction(s->t, beta2, hyper[HC_HYPER_STEP]);
    mpfr_div(s->u, s->v, s->t, MPFR_RNDN);
    if (p->eps_inside)
        mpfr_add_d(s->u, s->u, p->eps, MPFR_RNDN);
    mpfr_sqrt(s->u, s->u, MPFR_RNDN);
    if (!p->eps_inside)
        mpfr_add_d(s->u, s->u, p->eps, MPFR_RNDN);
    mpfr_div(s->u, s->m, s->u, MPFR_RNDN);

    correction(s->t, hyper[HC_HYPER_BETA1], hyper[HC_HYPER_STEP]);
    mpfr_d_div(s->t, hyper[HC_HYPER_LR], s->t, MPFR_RNDN);
    mpfr_mul(s->u, s->u, s->t, MPFR_RNDN);
    mpfr_sub(s->w, s->w, s->u, MPFR_RNDN);
}

static void adam(const struct hc_element *e, long precision, struct hc_exact *want, bool decoupled)
{
    const struct hc_call *call = e->call;
    double hyper[HC_HYPER_COUNT];
    struct state s;
    bool skipped = hc_is_set(&call->in[HC_ADAM_FOUND_INF]);
    bool moments = e->out == HC_ADAM_NEW_M || e->out == HC_ADAM_NEW_V;
    mpfr_inits2(precision, s.w, s.g, s.m, s.v, s.c, s.t, s.u, (mpfr_ptr)0);
    hc_load_real(s.w, &call->in[HC_ADAM_W], e->index);
    hc_load_real(s.g, &call->in[HC_ADAM_G], e->index);
    hc_load_real(s.m, &call->in[HC_ADAM_M], e->index);
    hc_load_real(s.v, &call->in[HC_ADAM_V], e->index);
    for (int i = 0; i < HC_HYPER_COUNT; i++)
        hyper[i] = hc_tensor_get(&call->in[HC_ADAM_HYPER], i);
    if (!skipped)
        step(&s, &call->params.adam, hyper, decoupled, moments);
    if (call->in[HC_ADAM_COMPENSATION].data && !moments) {
        hc_load_real(s.c, &call->in[HC_ADAM_COMPENSATION], e->index);
        if (!skipped)
            hc_compensate(s.w, s.c, call->in[HC_ADAM_W].format);
    }
    mpfr_srcptr const outputs[] = {[HC_ADAM_NEW_W] = s.w,
                                   [HC_ADAM_NEW_M] = s.m,
                                   [HC_ADAM_NEW_V] = s.v,
                                   [HC_ADAM_NEW_COMPENSATION] = s.c};
    hc_split(outputs[e->out], want);
    mpfr_clears(s.w, s.g, s.m, s.v, s.c, s.t, s.u, (mpfr_ptr)0);
}

hc_reference hc_reference_adam;
void hc_reference_adam(const struct hc_element *e, long precision, struct hc_exact *want)
{
    adam(e, precision, want, false);
}

hc_reference hc_reference_adamw;
void hc_reference_adamw(const struct hc_element *e, long precision, struct hc_exact *want)
{
    adam(e, precision, want, true);
}
