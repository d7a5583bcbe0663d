/* The optimizers: what they share, which is the two kinds of weight decay and compensated weights;
   then Adam, AdamW, and SGD with momentum. */
#include "reference/split.h"

/* w becomes w * (1 - lr * weight_decay). */
static void hc_decay_weight(mpfr_t w, double lr, double weight_decay)
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
static void hc_decay_gradient(mpfr_t g, mpfr_srcptr w, double weight_decay)
{
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(g));
    mpfr_mul_d(t, w, weight_decay, MPFR_RNDN);
    mpfr_add(g, g, t, MPFR_RNDN);
    mpfr_clear(t);
}

/* Compensation (kernels/element/kahan.h): the weight is w + c. w, already updated, becomes the new
   w + c, and c becomes what w's format does not hold of it: (w + c) - round(w + c). */
static void hc_compensate(mpfr_t w, mpfr_t c, enum hc_format format)
{
    struct hc_exact sum;
    mpfr_add(w, w, c, MPFR_RNDN);
    hc_split(w, &sum);
    uint64_t held = hc_encode(format, sum.hi, sum.lo, HC_NEAREST);
    mpfr_sub_d(c, w, hc_decode(format, held), MPFR_RNDN);
}

/* Adam and AdamW. The orders of roundings differ in their rounding errors alone and all stand for
   these real numbers, except that apex rounds beta2 to fp32. */
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

/* SGD with momentum. */
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
