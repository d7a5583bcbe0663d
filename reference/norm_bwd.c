/* Batch norm, gradients, from the saved statistics. */
#include <stdbool.h>

#include "reference/channel.h"
#include "reference/split.h"

/* The operands of a gradient. With y, dz is rounded as the contract says. */
struct tensors {
    const struct hc_tensor *x;
    const struct hc_tensor *y; /* or NULL */
    const struct hc_tensor *dy;
    const struct hc_tensor *gamma; /* or NULL */
    const struct hc_tensor *mean;
    const struct hc_tensor *invstd;
    double slope;
    enum hc_format work;
    int64_t channels;
};

static struct tensors tensors_of(const struct hc_call *call)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    const struct hc_tensor *x = &call->in[s->x];
    return (struct tensors){.x = x,
                            .y = s->y < 0 ? NULL : &call->in[s->y],
                            .dy = &call->in[s->dy],
                            .gamma = s->gamma < 0 ? NULL : &call->in[s->gamma],
                            .mean = &call->in[s->mean],
                            .invstd = &call->in[s->invstd],
                            .slope = hc_bn_number(&call->params.bn, call->params.bn.slope),
                            .work = hc_call_fp64(call) ? HC_FP64 : HC_FP32,
                            .channels = x->shape[x->rank - 1]};
}

/* slope * dy is exact in fp64 if both are fp32 numbers, so that hc_round rounds the product once.
   If they are fp64 numbers the multiplication itself is the one rounding. */
static void load_dz(mpfr_t dz, const struct tensors *t, int64_t i)
{
    double dy = hc_tensor_get(t->dy, i);
    if (t->y && !(hc_tensor_get(t->y, i) > 0))
        dy = hc_round(t->dy->format, hc_round(t->work, t->slope * dy));
    mpfr_set_d(dz, dy, MPFR_RNDN);
}

/* x = (x[i] - mean) * invstd */
static void normalized(mpfr_t x, const struct tensors *t, int64_t i, int64_t c)
{
    mpfr_t s;
    mpfr_init2(s, mpfr_get_prec(x));
    hc_load_real(x, t->x, i);
    hc_load_real(s, t->mean, c);
    mpfr_sub(x, x, s, MPFR_RNDN);
    hc_load_real(s, t->invstd, c);
    mpfr_mul(x, x, s, MPFR_RNDN);
    mpfr_clear(s);
}

static void sums(mpfr_t dgamma, mpfr_t dbeta, const struct hc_call *call, int64_t c)
{
    const struct tensors tensors = tensors_of(call);
    const struct tensors *t = &tensors;
    mpfr_t dz;
    mpfr_t x;
    mpfr_inits2(mpfr_get_prec(dgamma), dz, x, (mpfr_ptr)0);
    mpfr_set_zero(dgamma, 1);
    mpfr_set_zero(dbeta, 1);
    for (int64_t i = c; i < hc_tensor_count(t->x); i += t->channels) {
        load_dz(dz, t, i);
        normalized(x, t, i, c);
        mpfr_add(dbeta, dbeta, dz, MPFR_RNDN);
        mpfr_fma(dgamma, dz, x, dgamma, MPFR_RNDN);
    }
    mpfr_clears(dz, x, (mpfr_ptr)0);
}

/* dbeta becomes dx = gamma * invstd * (dz - dbeta / M - xhat * dgamma / M). */
static void input_gradient(mpfr_t dgamma, mpfr_t dbeta, int64_t m, const struct tensors *t,
                           int64_t index)
{
    int64_t c = index % t->channels;
    mpfr_t s;
    mpfr_init2(s, mpfr_get_prec(dgamma));
    normalized(s, t, index, c);
    mpfr_mul(dgamma, dgamma, s, MPFR_RNDN);
    mpfr_add(dbeta, dbeta, dgamma, MPFR_RNDN);
    mpfr_div_si(dbeta, dbeta, (long)m, MPFR_RNDN);
    load_dz(s, t, index);
    mpfr_sub(dbeta, s, dbeta, MPFR_RNDN);
    hc_load_real(s, t->gamma, c);
    mpfr_mul(dbeta, dbeta, s, MPFR_RNDN);
    hc_load_real(s, t->invstd, c);
    mpfr_mul(dbeta, dbeta, s, MPFR_RNDN);
    mpfr_clear(s);
}

static void gradient(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(e->call->op);
    struct tensors t = tensors_of(e->call);
    int64_t c = e->index % t.channels;
    mpfr_t dgamma;
    mpfr_t dbeta;
    mpfr_inits2(precision, dgamma, dbeta, (mpfr_ptr)0);
    hc_channel(dgamma, dbeta, e->call, c, sums);
    if (e->out == s->dx)
        input_gradient(dgamma, dbeta, hc_tensor_count(t.x) / t.channels, &t, e->index);
    hc_split(e->out == s->dgamma ? dgamma : dbeta, want);
    mpfr_clears(dgamma, dbeta, (mpfr_ptr)0);
}

/* The means are given, of all ranks' elements. */
static void apply(const struct hc_element *e, long precision, struct hc_exact *want)
{
    struct tensors t = tensors_of(e->call);
    int64_t c = e->index % t.channels;
    mpfr_t dgamma;
    mpfr_t dbeta;
    mpfr_inits2(precision, dgamma, dbeta, (mpfr_ptr)0);
    hc_load_real(dgamma, &e->call->in[HC_BN_BWD_APPLY_MEAN_DGAMMA], c);
    hc_load_real(dbeta, &e->call->in[HC_BN_BWD_APPLY_MEAN_DBETA], c);
    input_gradient(dgamma, dbeta, 1, &t, e->index);
    hc_split(dbeta, want);
    mpfr_clears(dgamma, dbeta, (mpfr_ptr)0);
}

hc_reference hc_reference_bn_bwd, hc_reference_bn_leaky_bwd;
hc_reference hc_reference_bn_bwd_sums, hc_reference_bn_bwd_apply;

void hc_reference_bn_bwd(const struct hc_element *e, long precision, struct hc_exact *want)
{
    gradient(e, precision, want);
}

void hc_reference_bn_leaky_bwd(const struct hc_element *e, long precision, struct hc_exact *want)
{
    gradient(e, precision, want);
}

void hc_reference_bn_bwd_sums(const struct hc_element *e, long precision, struct hc_exact *want)
{
    gradient(e, precision, want);
}

void hc_reference_bn_bwd_apply(const struct hc_element *e, long precision, struct hc_exact *want)
{
    apply(e, precision, want);
}
