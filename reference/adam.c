/* Adam and AdamW. The orders of roundings all stand for these real numbers, but that apex takes
   beta2 as fp32. */
#include "reference/compensate.h"
#include "reference/decay.h"

struct state {
    mpfr_t w, g, m, v, c, t, u;
};

/* v becomes beta * v + (1 - beta) * g, g being overwritten */
static void average(mpfr_t v, mpfr_t g, double beta, mpfr_t t)
{
    mpfr_set_d(t, beta, MPFR_RNDN);
    mpfr_mul(v, v, t, MPFR_RNDN);
    mpfr_si_sub(t, 1, t, MPFR_RNDN);
    mpfr_mul(g, g, t, MPFR_RNDN);
    mpfr_add(v, v, g, MPFR_RNDN);
}

/* t = 1 - beta^steps */
static void correction(mpfr_t t, double beta, double steps)
{
    mpfr_set_d(t, beta, MPFR_RNDN);
    mpfr_pow_si(t, t, (long)steps, MPFR_RNDN);
    mpfr_si_sub(t, 1, t, MPFR_RNDN);
}

static void step(struct state *s, const struct hc_adam *p, const double hyper[3], bool decoupled)
{
    double beta2 = p->order == HC_ORDER_APEX ? (double)(float)p->beta2 : p->beta2;
    if (decoupled)
        hc_decay(s->w, hyper[0], p->weight_decay);
    else if (p->weight_decay != 0)
        hc_add_decay(s->g, s->w, p->weight_decay);
    mpfr_sqr(s->u, s->g, MPFR_RNDN);
    average(s->m, s->g, hyper[1], s->t);
    average(s->v, s->u, beta2, s->t);

    correction(s->t, beta2, hyper[2]);
    mpfr_div(s->u, s->v, s->t, MPFR_RNDN);
    if (p->eps_inside)
        mpfr_add_d(s->u, s->u, p->eps, MPFR_RNDN);
    mpfr_sqrt(s->u, s->u, MPFR_RNDN);
    if (!p->eps_inside)
        mpfr_add_d(s->u, s->u, p->eps, MPFR_RNDN);
    mpfr_div(s->u, s->m, s->u, MPFR_RNDN);

    correction(s->t, hyper[1], hyper[2]);
    mpfr_d_div(s->t, hyper[0], s->t, MPFR_RNDN);
    mpfr_mul(s->u, s->u, s->t, MPFR_RNDN);
    mpfr_sub(s->w, s->w, s->u, MPFR_RNDN);
}

static void adam(const struct hc_element *e, long precision, struct hc_exact *want, bool decoupled)
{
    const struct hc_call *call = e->call;
    double hyper[3];
    struct state s;
    bool skipped = call->in[5].data && hc_tensor_get(&call->in[5], 0) != 0;
    mpfr_inits2(precision, s.w, s.g, s.m, s.v, s.c, s.t, s.u, (mpfr_ptr)0);
    hc_load_real(s.w, &call->in[0], e->index);
    hc_load_real(s.g, &call->in[1], e->index);
    hc_load_real(s.m, &call->in[2], e->index);
    hc_load_real(s.v, &call->in[3], e->index);
    for (int i = 0; i < 3; i++)
        hyper[i] = hc_tensor_get(&call->in[4], i);
    if (!skipped)
        step(&s, &call->params.adam, hyper, decoupled);
    if (call->in[6].data) {
        hc_load_real(s.c, &call->in[6], e->index);
        if (!skipped) {
            mpfr_add(s.w, s.w, s.c, MPFR_RNDN);
            mpfr_set(s.c, s.w, MPFR_RNDN);
            hc_left_over(s.c, call->in[0].format);
        }
    }
    hc_split(e->out == 0 ? s.w : e->out == 1 ? s.m : e->out == 2 ? s.v : s.c, want);
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
