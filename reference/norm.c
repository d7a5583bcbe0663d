/* Batch norm, and below it its gradients. eps, momentum and slope are rounded to fp32 first, unless
   the call takes them as they are. */
#include <math.h>
#include <stdbool.h>

#include "reference/kept.h"
#include "reference/split.h"

/* Elements of a channel. */
static int64_t channel_length(const struct hc_tensor *x)
{
    int64_t channels = x->shape[x->rank - 1];
    return channels ? hc_tensor_count(x) / channels : 0;
}

/* mean = sum x / M, variance = sum (x - mean)^2 / M over channel c. */
static void moments(mpfr_t mean, mpfr_t variance, const struct hc_tensor *x, int64_t c)
{
    int64_t channels = x->shape[x->rank - 1];
    int64_t m = channel_length(x);
    mpfr_t d;
    mpfr_init2(d, mpfr_get_prec(mean));
    mpfr_set_zero(mean, 1);
    mpfr_set_zero(variance, 1);
    for (int64_t i = 0; i < m; i++) {
        hc_load_real(d, x, i * channels + c);
        mpfr_add(mean, mean, d, MPFR_RNDN);
    }
    mpfr_div_si(mean, mean, (long)m, MPFR_RNDN);
    for (int64_t i = 0; i < m; i++) {
        hc_load_real(d, x, i * channels + c);
        mpfr_sub(d, d, mean, MPFR_RNDN);
        mpfr_sqr(d, d, MPFR_RNDN);
        mpfr_add(variance, variance, d, MPFR_RNDN);
    }
    mpfr_div_si(variance, variance, (long)m, MPFR_RNDN);
    mpfr_clear(d);
}

/* variance becomes 1 / sqrt(variance + eps). */
static void invert(mpfr_t variance, double eps)
{
    mpfr_add_d(variance, variance, eps, MPFR_RNDN);
    mpfr_rec_sqrt(variance, variance, MPFR_RNDN);
}

/* mean becomes (x - mean) * invstd * gamma + beta. */
static void normalize(mpfr_t mean, mpfr_t invstd, const struct hc_element *e, int64_t c)
{
    const struct hc_call *call = e->call;
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(mean));
    hc_load_real(t, &call->in[HC_BN_X], e->index);
    mpfr_sub(mean, t, mean, MPFR_RNDN);
    mpfr_mul(mean, mean, invstd, MPFR_RNDN);
    hc_load_real(t, &call->in[HC_BN_GAMMA], c);
    mpfr_mul(mean, mean, t, MPFR_RNDN);
    hc_load_real(t, &call->in[HC_BN_BETA], c);
    mpfr_add(mean, mean, t, MPFR_RNDN);
    mpfr_clear(t);
}

/* batch becomes (1 - momentum) * running + momentum * batch. */
static void blend(mpfr_t batch, const struct hc_tensor *running, int64_t c, double momentum)
{
    mpfr_t r, kept;
    mpfr_inits2(mpfr_get_prec(batch), r, kept, (mpfr_ptr)NULL);
    hc_load_real(r, running, c);
    mpfr_set_d(kept, momentum, MPFR_RNDN);
    mpfr_mul(batch, batch, kept, MPFR_RNDN);
    mpfr_ui_sub(kept, 1, kept, MPFR_RNDN);
    mpfr_mul(r, r, kept, MPFR_RNDN);
    mpfr_add(batch, batch, r, MPFR_RNDN);
    mpfr_clears(r, kept, (mpfr_ptr)NULL);
}

/* leaky_relu of z. Rounding z into y's format, which the contract asks for, is left to the bound;
   but where that gives an infinity z becomes one. */
static void leak(mpfr_t z, const struct hc_call *call)
{
    struct hc_exact real;
    enum hc_format format = call->out[HC_BN_Y].format;
    hc_split(z, &real);
    if (isinf(hc_decode(format, hc_encode(format, real.hi, real.lo, HC_NEAREST))))
        mpfr_set_inf(z, mpfr_sgn(z));
    if (!(mpfr_sgn(z) > 0))
        mpfr_mul_d(z, z, hc_bn_number(&call->params.bn, call->params.bn.slope), MPFR_RNDN);
}

static void moments_of_batch(mpfr_t mean, mpfr_t variance, const struct hc_call *call, int64_t c)
{
    moments(mean, variance, &call->in[HC_BN_X], c);
}

static void train(const struct hc_element *e, long precision, bool leaky, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t m = channel_length(x);
    int64_t c = e->index % x->shape[x->rank - 1];
    mpfr_t mean;
    mpfr_t variance;
    mpfr_inits2(precision, mean, variance, (mpfr_ptr)0);
    hc_channel(mean, variance, call, c, moments_of_batch);
    if (e->out == HC_BN_Y || e->out == HC_BN_SAVED_INVSTD)
        invert(variance, hc_bn_number(&call->params.bn, call->params.bn.eps));
    if (e->out == HC_BN_Y)
        normalize(mean, variance, e, c);
    if (e->out == HC_BN_Y && leaky)
        leak(mean, call);
    if (e->out == HC_BN_NEW_MEAN)
        blend(mean, &call->in[HC_BN_MEAN], c,
              hc_bn_number(&call->params.bn, call->params.bn.momentum));
    if (e->out == HC_BN_NEW_VARIANCE) {
        if (m > 1) {
            mpfr_mul_si(variance, variance, (long)m, MPFR_RNDN);
            mpfr_div_si(variance, variance, (long)m - 1, MPFR_RNDN);
        }
        blend(variance, &call->in[HC_BN_VARIANCE], c,
              hc_bn_number(&call->params.bn, call->params.bn.momentum));
    }
    int in_variance = e->out == HC_BN_SAVED_INVSTD || e->out == HC_BN_NEW_VARIANCE;
    hc_split(in_variance ? variance : mean, want);
    mpfr_clears(mean, variance, (mpfr_ptr)0);
}

static void infer(const struct hc_element *e, long precision, bool leaky, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t c = e->index % x->shape[x->rank - 1];
    mpfr_t mean;
    mpfr_t variance;
    mpfr_inits2(precision, mean, variance, (mpfr_ptr)0);
    hc_load_real(mean, &call->in[HC_BN_MEAN], c);
    hc_load_real(variance, &call->in[HC_BN_VARIANCE], c);
    invert(variance, hc_bn_number(&call->params.bn, call->params.bn.eps));
    normalize(mean, variance, e, c);
    if (leaky)
        leak(mean, call);
    hc_split(mean, want);
    mpfr_clears(mean, variance, (mpfr_ptr)0);
}

static void moments_of_rank(const struct hc_element *e, long precision, struct hc_exact *want)
{
    mpfr_t mean;
    mpfr_t variance;
    mpfr_inits2(precision, mean, variance, (mpfr_ptr)0);
    moments(mean, variance, &e->call->in[HC_BN_MOMENTS_X], e->index);
    hc_split(e->out == HC_BN_MOMENTS_MEAN ? mean : variance, want);
    mpfr_clears(mean, variance, (mpfr_ptr)0);
}

/* Adds up n_r mean_r, or n_r (variance_r + (mean_r - mean)^2) if a mean is given, over the ranks
   that have elements, and divides by how many these are, which is returned. */
static long combined(mpfr_t sum, mpfr_srcptr mean, const struct hc_call *call, int64_t c)
{
    const struct hc_tensor *counts = &call->in[HC_BN_COMBINE_COUNTS];
    const struct hc_tensor *means = &call->in[HC_BN_COMBINE_MEANS];
    int64_t channels = means->shape[means->rank - 1];
    long all = 0;
    mpfr_t term;
    mpfr_t variance;
    mpfr_inits2(mpfr_get_prec(sum), term, variance, (mpfr_ptr)0);
    mpfr_set_zero(sum, 1);
    for (int64_t r = 0; r < hc_tensor_count(counts); r++) {
        long n = (long)hc_tensor_get(counts, r);
        if (n <= 0)
            continue;
        all += n;
        hc_load_real(term, means, r * channels + c);
        if (mean) {
            mpfr_sub(term, term, mean, MPFR_RNDN);
            mpfr_sqr(term, term, MPFR_RNDN);
            hc_load_real(variance, &call->in[HC_BN_COMBINE_VARIANCES], r * channels + c);
            mpfr_add(term, term, variance, MPFR_RNDN);
        }
        mpfr_mul_si(term, term, n, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    if (all > 0)
        mpfr_div_si(sum, sum, all, MPFR_RNDN);
    mpfr_clears(term, variance, (mpfr_ptr)0);
    return all;
}

static void combine(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_bn *p = &call->params.bn;
    int64_t c = e->index;
    mpfr_t mean;
    mpfr_t variance;
    mpfr_inits2(precision, mean, variance, (mpfr_ptr)0);
    long all = combined(mean, NULL, call, c);
    combined(variance, mean, call, c);
    if (e->out == HC_BN_COMBINE_SAVED_INVSTD)
        invert(variance, hc_bn_number(p, p->eps));
    if (e->out == HC_BN_COMBINE_NEW_MEAN)
        blend(mean, &call->in[HC_BN_COMBINE_MEAN], c, hc_bn_number(p, p->momentum));
    if (e->out == HC_BN_COMBINE_NEW_VARIANCE) {
        if (all > 1) {
            mpfr_mul_si(variance, variance, all, MPFR_RNDN);
            mpfr_div_si(variance, variance, all - 1, MPFR_RNDN);
        }
        blend(variance, &call->in[HC_BN_COMBINE_VARIANCE], c, hc_bn_number(p, p->momentum));
    }
    int of_mean = e->out == HC_BN_COMBINE_SAVED_MEAN || e->out == HC_BN_COMBINE_NEW_MEAN;
    hc_split(of_mean ? mean : variance, want);
    mpfr_clears(mean, variance, (mpfr_ptr)0);
}

hc_reference hc_reference_bn_train, hc_reference_bn_infer;
hc_reference hc_reference_bn_moments, hc_reference_bn_combine;
hc_reference hc_reference_bn_leaky_train, hc_reference_bn_leaky_infer;

void hc_reference_bn_train(const struct hc_element *e, long precision, struct hc_exact *want)
{
    train(e, precision, false, want);
}

void hc_reference_bn_infer(const struct hc_element *e, long precision, struct hc_exact *want)
{
    infer(e, precision, false, want);
}

void hc_reference_bn_leaky_train(const struct hc_element *e, long precision, struct hc_exact *want)
{
    train(e, precision, true, want);
}

void hc_reference_bn_leaky_infer(const struct hc_element *e, long precision, struct hc_exact *want)
{
    infer(e, precision, true, want);
}

void hc_reference_bn_moments(const struct hc_element *e, long precision, struct hc_exact *want)
{
    moments_of_rank(e, precision, want);
}

void hc_reference_bn_combine(const struct hc_element *e, long precision, struct hc_exact *want)
{
    combine(e, precision, want);
}

/* Batch norm, gradients, from the saved statistics. */

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
