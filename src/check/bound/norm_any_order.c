/* Batch norm, forward, in any order of evaluation (any_order.c). */
#include <math.h>

#include "check/bound/any_order.h"
#include "check/bound/norm.h"

/* The same in any order: with x gamma invstd + (beta - mean gamma invstd), say, each of the three
   monomials errs by itself. At most six roundings lie between an operand and z: invstd gamma, the
   product with x or mean, a fold of beta, two sums; and a difference. */
static struct hc_ball normalized(const struct hc_element *e, int64_t c, struct hc_ball mean,
                                 struct hc_ball invstd)
{
    const struct hc_call *call = e->call;
    struct hc_ball x = hc_ball_element(&call->in[HC_BN_X], e->index);
    struct hc_ball gamma = hc_ball_element(&call->in[HC_BN_GAMMA], c);
    struct hc_ball beta = hc_ball_element(&call->in[HC_BN_BETA], c);
    struct hc_ball alpha = hc_ball_mul(HC_FP64, gamma, invstd);
    struct hc_ball z = hc_ball_mul(HC_FP64, hc_ball_sub(HC_FP64, x, mean), alpha);
    double centre = fabs(x.mid) + fabs(mean.mid) + mean.rad;
    double scale = fabs(alpha.mid) + alpha.rad;
    double after = fmax(centre * fmax(1, fabs(gamma.mid)), fabs(invstd.mid) + invstd.rad);
    z = hc_ball_add(HC_FP64, z, beta);
    z = hc_ball_any_order(hc_bound_work(call), z, centre * scale + fabs(beta.mid), 6, after);
    if (!(centre * (fabs(invstd.mid) + invstd.rad) <= hc_format_max(hc_bound_work(call))))
        z.rad = (double)INFINITY;
    return z;
}

/* sqrt may come after the division, eps may be fp64's, and a reciprocal root may be one step: no
   more roundings than five. */
static struct hc_ball inverse_root(enum hc_format f, struct hc_ball variance, double eps)
{
    struct hc_ball invstd = hc_bound_norm_stated.inverse_root(HC_FP64, variance, eps);
    return hc_ball_any_order(f, invstd, fabs(invstd.mid) + invstd.rad, 5, 1);
}

/* A running average whose coefficients may be fp64's 1 - m, or m as it was given. */
static double blended(enum hc_format f, const struct hc_tensor *running, int64_t c,
                      struct hc_ball batch, double momentum)
{
    double r = hc_tensor_get(running, c);
    double m = momentum;
    if (isinf(r))
        return (double)INFINITY;
    struct hc_ball x = {(1 - m) * r + m * batch.mid, fabs(m) * batch.rad};
    double magnitude = (1 + fabs(m)) * fabs(r) + fabs(m) * (fabs(batch.mid) + batch.rad);
    return hc_ball_any_order(f, x, magnitude, HC_ANY_AVERAGE, 1).rad;
}

/* The sums are those of bn_train, in any order already. A sum may be multiplied by 1 / n, which is
   rounded, and so may the unbiased variance: two roundings more. */
static struct hc_ball any_mean(enum hc_format f, struct hc_ball x)
{
    return hc_ball_any_order(f, x, fabs(x.mid) + x.rad, 2, 1);
}

static struct hc_ball unbiased(enum hc_format f, struct hc_ball variance, int64_t m)
{
    if (m <= 1)
        return variance;
    struct hc_ball by = hc_ball_exact((double)m / (double)(m - 1));
    return any_mean(f, hc_ball_mul(HC_FP64, variance, by));
}

const struct hc_bound_norm hc_bound_norm_any = {inverse_root, normalized, blended, unbiased};

double hc_bound_any_bn_train(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    enum hc_format f = hc_bound_work(e->call);
    const struct hc_tensor *x = &e->call->in[HC_BN_X];
    int64_t channels = x->shape[x->rank - 1];
    struct hc_bound_moments m = hc_bound_channel(f, x, e->index % channels);
    m.mean = any_mean(f, m.mean);
    m.variance = any_mean(f, m.variance);
    return hc_bound_of_moments(e, &hc_bound_norm_any, m, hc_tensor_count(x) / channels);
}

double hc_bound_any_bn_infer(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    return hc_bound_of_infer(e, &hc_bound_norm_any);
}

double hc_bound_any_bn_moments(const struct hc_element *e, const struct hc_accumulator *accumulator,
                               const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_call *call = e->call;
    enum hc_format f = hc_bound_work(call);
    struct hc_bound_moments m = hc_bound_channel(f, &call->in[HC_BN_MOMENTS_X], e->index);
    return any_mean(f, e->out == HC_BN_MOMENTS_MEAN ? m.mean : m.variance).rad;
}
