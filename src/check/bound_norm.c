/* Batch norm: the definition again, in running error analysis (near.h), in fp32. */
#include <math.h>

#include "check/bound_rules.h"

static const enum hc_format F = HC_FP32;

struct hc_near hc_near_element(const struct hc_tensor *t, int64_t i)
{
    return hc_near_exact(hc_tensor_get(t, i));
}

struct moments {
    struct hc_near mean;
    struct hc_near variance;
};

static struct hc_near divided(struct hc_near x, int64_t n)
{
    return hc_near_div(F, x, hc_near_exact((double)n));
}

/* sum (x - mean)^2 where the computed mean has strayed by d, |d| <= D. The computed terms are
   (x - mean - d)^2 (1 + e1)^2 (1 + e2), and, since sum (x - mean) = 0,
     sum (x - mean - d)^2 = V + n d^2,   V = sum (x - mean)^2:
   no term in d alone. All are positive, so with the n - 1 additions the computed sum is
   (V + n d^2)(1 + t), |t| <= (1 + u)^3 (1 + (n - 1) u) - 1; a square may underflow. */
static struct hc_near squares(double v, double n, double strayed)
{
    double u = hc_format_unit(F);
    double t = expm1(3 * log1p(u) + log1p((n - 1) * u)) + n * 0x1p-52;
    double off = n * strayed * strayed;
    double error = off + t * (v + off) + n * hc_format_tiny(F);
    return (struct hc_near){v, v + error <= hc_format_max(F) ? error : (double)INFINITY};
}

static struct moments channel(const struct hc_tensor *x, int64_t c)
{
    int64_t channels = x->shape[x->rank - 1];
    int64_t n = hc_tensor_count(x) / channels;
    struct hc_near_sum sum = {0};
    for (int64_t i = 0; i < n; i++)
        hc_near_term(&sum, hc_near_element(x, i * channels + c));
    struct moments m = {.mean = divided(hc_near_total(&sum), n)};
    double v = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = hc_tensor_get(x, i * channels + c) - m.mean.value;
        v += d * d;
    }
    m.variance = divided(squares(v, (double)n, m.mean.error), n);
    return m;
}

static struct hc_near inverse_root(struct hc_near variance, double eps)
{
    struct hc_near root =
        hc_near_sqrt(F, hc_near_add(F, variance, hc_near_exact((double)(float)eps)));
    return hc_near_div(F, hc_near_exact(1), root);
}

/* (x - mean) * invstd * gamma + beta: invstd * gamma first gives the same count of roundings, but
   other intermediate results, which may underflow or overflow: the worse of both. */
static double normalized(const struct hc_call *call, int64_t index, int64_t c, struct hc_near mean,
                         struct hc_near invstd)
{
    struct hc_near d = hc_near_sub(F, hc_near_element(&call->in[0], index), mean);
    struct hc_near gamma = hc_near_element(&call->in[1], c);
    struct hc_near beta = hc_near_element(&call->in[2], c);
    struct hc_near apart = hc_near_mul(F, hc_near_mul(F, d, invstd), gamma);
    struct hc_near folded = hc_near_mul(F, d, hc_near_mul(F, invstd, gamma));
    return fmax(hc_near_add(F, apart, beta).error, hc_near_add(F, folded, beta).error);
}

static double blended(const struct hc_tensor *running, int64_t c, struct hc_near batch,
                      double momentum)
{
    struct hc_near r = hc_near_element(running, c);
    struct hc_near m = hc_near_exact((double)(float)momentum);
    struct hc_near move = hc_near_mul(F, m, hc_near_sub(F, batch, r));
    return hc_near_add(F, r, move).error;
}

double hc_bound_bn_train(const struct hc_call *call, const struct hc_accumulator *accumulator,
                         int out, int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_tensor *x = &call->in[0];
    int64_t channels = x->shape[x->rank - 1];
    int64_t c = index % channels;
    int64_t n = hc_tensor_count(x) / channels;
    struct moments m = channel(x, c);
    struct hc_near invstd = inverse_root(m.variance, call->params.bn.eps);
    struct hc_near unbiased = m.variance;
    switch (out) {
    case 0:
        return normalized(call, index, c, m.mean, invstd);
    case 1:
        return m.mean.error;
    case 2:
        return invstd.error;
    case 3:
        return blended(&call->in[3], c, m.mean, call->params.bn.momentum);
    default:
        if (n > 1) /* M / (M - 1) is a division, and a multiplication by it another rounding */
            unbiased = hc_near_mul(
                F, m.variance,
                hc_near_div(F, hc_near_exact((double)n), hc_near_exact((double)(n - 1))));
        return blended(&call->in[4], c, unbiased, call->params.bn.momentum);
    }
}

double hc_bound_bn_infer(const struct hc_call *call, const struct hc_accumulator *accumulator,
                         int out, int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)out;
    (void)want;
    const struct hc_tensor *x = &call->in[0];
    int64_t c = index % x->shape[x->rank - 1];
    struct hc_near invstd = inverse_root(hc_near_element(&call->in[4], c), call->params.bn.eps);
    return normalized(call, index, c, hc_near_element(&call->in[3], c), invstd);
}

struct gradients {
    struct hc_near dgamma;
    struct hc_near dbeta;
};

static struct hc_near hat(const struct hc_call *call, int64_t i, int64_t c)
{
    struct hc_near d =
        hc_near_sub(F, hc_near_element(&call->in[0], i), hc_near_element(&call->in[3], c));
    return hc_near_mul(F, d, hc_near_element(&call->in[4], c));
}

/* dgamma = invstd * sum dy (x - mean) has as many roundings. */
static struct gradients sums(const struct hc_call *call, int64_t c)
{
    struct hc_near_sum dgamma = {0};
    struct hc_near_sum dbeta = {0};
    int64_t channels = call->in[2].shape[0];
    for (int64_t i = c; i < hc_tensor_count(&call->in[0]); i += channels) {
        struct hc_near dy = hc_near_element(&call->in[1], i);
        hc_near_term(&dbeta, dy);
        hc_near_term(&dgamma, hc_near_mul(F, dy, hat(call, i, c)));
    }
    return (struct gradients){hc_near_total(&dgamma), hc_near_total(&dbeta)};
}

double hc_bound_bn_bwd(const struct hc_call *call, const struct hc_accumulator *accumulator,
                       int out, int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)want;
    int64_t channels = call->in[2].shape[0];
    int64_t c = index % channels;
    int64_t n = hc_tensor_count(&call->in[0]) / channels;
    struct gradients g = sums(call, c);
    if (out > 0)
        return out == 1 ? g.dgamma.error : g.dbeta.error;
    struct hc_near by_gamma = hc_near_mul(F, hat(call, index, c), divided(g.dgamma, n));
    struct hc_near dx = hc_near_sub(F, hc_near_element(&call->in[1], index), divided(g.dbeta, n));
    dx = hc_near_sub(F, dx, by_gamma);
    struct hc_near scale =
        hc_near_mul(F, hc_near_element(&call->in[2], c), hc_near_element(&call->in[4], c));
    return hc_near_mul(F, scale, dx).error;
}
