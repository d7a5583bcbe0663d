/* Batch norm, forward: the definition again, in running error analysis (near.h), in fp32. */
#include <math.h>

#include "check/bound_rules.h"
#include "num/ulp.h"

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
static struct hc_near normalized(const struct hc_call *call, int64_t index, int64_t c,
                                 struct hc_near mean, struct hc_near invstd)
{
    struct hc_near d = hc_near_sub(F, hc_near_element(&call->in[0], index), mean);
    struct hc_near gamma = hc_near_element(&call->in[1], c);
    struct hc_near beta = hc_near_element(&call->in[2], c);
    struct hc_near apart = hc_near_mul(F, hc_near_mul(F, d, invstd), gamma);
    struct hc_near folded = hc_near_mul(F, d, hc_near_mul(F, invstd, gamma));
    apart = hc_near_add(F, apart, beta);
    apart.error = fmax(apart.error, hc_near_add(F, folded, beta).error);
    return apart;
}

/* z rounded into its format (fp32's rounding is in z already): an infinity for certain where all that
   z can be lies beyond the largest number and half an ulp, anything where some of it does. */
static struct hc_near held(enum hc_format f, struct hc_near z)
{
    double end = hc_format_max(f) + hc_ulp(f, hc_format_max(f)) / 2;
    if (fabs(z.value) - z.error >= end)
        return hc_near_exact(copysign((double)INFINITY, z.value));
    if (!(fabs(z.value) + z.error < end))
        z.error = (double)INFINITY;
    else if (f != HC_FP32)
        z.error += hc_ulp(f, fabs(z.value) + z.error) / 2;
    return z;
}

/* leaky_relu after z, without the last rounding into the output, which hc_bound adds. Above zero
   that is the rounding of z itself; below, z is rounded first and the product is. Where z may lie on
   either side, or is NaN: the function stretches nothing by more than max(1, |slope|). */
static double leaked(const struct hc_call *call, struct hc_near z)
{
    double slope = (double)(float)call->params.bn.slope;
    struct hc_near h = held(call->out[0].format, z);
    if (h.value > z.error)
        return isinf(h.error) ? h.error : isinf(h.value) ? 0 : z.error;
    double by = -h.value > z.error ? fabs(slope) : fmax(1, fabs(slope));
    return hc_near_mul(F, hc_near_exact(by), h).error;
}

/* r + m (batch - r), or (1 - m) r + m batch: the worse of both orders. */
static double blended(const struct hc_tensor *running, int64_t c, struct hc_near batch,
                      double momentum)
{
    struct hc_near r = hc_near_element(running, c);
    struct hc_near m = hc_near_exact((double)(float)momentum);
    struct hc_near move = hc_near_mul(F, m, hc_near_sub(F, batch, r));
    struct hc_near kept = hc_near_mul(F, hc_near_sub(F, hc_near_exact(1), m), r);
    struct hc_near mixed = hc_near_add(F, kept, hc_near_mul(F, m, batch));
    return fmax(hc_near_add(F, r, move).error, mixed.error);
}

static double train(const struct hc_call *call, int out, int64_t index, bool leaky)
{
    const struct hc_tensor *x = &call->in[0];
    int64_t channels = x->shape[x->rank - 1];
    int64_t c = index % channels;
    int64_t n = hc_tensor_count(x) / channels;
    struct moments m = channel(x, c);
    struct hc_near invstd = inverse_root(m.variance, call->params.bn.eps);
    struct hc_near unbiased = m.variance;
    struct hc_near z;
    switch (out) {
    case 0:
        z = normalized(call, index, c, m.mean, invstd);
        return leaky ? leaked(call, z) : z.error;
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

static struct hc_near infer(const struct hc_call *call, int64_t index)
{
    const struct hc_tensor *x = &call->in[0];
    int64_t c = index % x->shape[x->rank - 1];
    struct hc_near invstd = inverse_root(hc_near_element(&call->in[4], c), call->params.bn.eps);
    return normalized(call, index, c, hc_near_element(&call->in[3], c), invstd);
}

double hc_bound_bn_train(const struct hc_call *call, const struct hc_accumulator *accumulator,
                         int out, int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)want;
    return train(call, out, index, false);
}

double hc_bound_bn_infer(const struct hc_call *call, const struct hc_accumulator *accumulator,
                         int out, int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)out;
    (void)want;
    return infer(call, index).error;
}

double hc_bound_bn_leaky_train(const struct hc_call *call, const struct hc_accumulator *accumulator,
                               int out, int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)want;
    return train(call, out, index, true);
}

double hc_bound_bn_leaky_infer(const struct hc_call *call, const struct hc_accumulator *accumulator,
                               int out, int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)out;
    (void)want;
    return leaked(call, infer(call, index));
}
