/* Batch norm, forward: the definition again, in running error analysis (near.h). */
#include <math.h>

#include "check/bound_rules.h"
#include "num/ulp.h"

struct hc_near hc_near_element(const struct hc_tensor *t, int64_t i)
{
    return hc_near_exact(hc_tensor_get(t, i));
}

struct moments {
    struct hc_near mean;
    struct hc_near variance;
};

static struct hc_near divided(enum hc_format f, struct hc_near x, int64_t n)
{
    return hc_near_div(f, x, hc_near_exact((double)n));
}

/* sum (x - mean)^2 where the computed mean has strayed by d, |d| <= D. The computed terms are
   (x - mean - d)^2 (1 + e1)^2 (1 + e2), and, since sum (x - mean) = 0,
     sum (x - mean - d)^2 = V + n d^2,   V = sum (x - mean)^2:
   no term in d alone. All are positive, so with the n - 1 additions the computed sum is
   (V + n d^2)(1 + t), |t| <= (1 + u)^3 (1 + (n - 1) u) - 1; a square may underflow. In fp64 v itself is
   as far off, by another n d^2. */
static struct hc_near squares(enum hc_format f, double v, double n, double strayed)
{
    double u = hc_format_unit(f);
    double t = expm1(3 * log1p(u) + log1p((n - 1) * u)) + n * 0x1p-52;
    double off = (f == HC_FP64 ? 2 : 1) * n * strayed * strayed;
    double error = off + t * (v + off) + n * hc_format_tiny(f);
    return (struct hc_near){v, v + error <= hc_format_max(f) ? error : (double)INFINITY};
}

static struct moments channel(enum hc_format f, const struct hc_tensor *x, int64_t c)
{
    int64_t channels = x->shape[x->rank - 1];
    int64_t n = hc_tensor_count(x) / channels;
    struct hc_near_sum sum = {0};
    for (int64_t i = 0; i < n; i++)
        hc_near_term(&sum, hc_near_element(x, i * channels + c));
    struct moments m = {.mean = divided(f, hc_near_total(f, &sum), n)};
    double v = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = hc_tensor_get(x, i * channels + c) - m.mean.value;
        v += d * d;
    }
    m.variance = divided(f, squares(f, v, (double)n, m.mean.error), n);
    return m;
}

static struct hc_near inverse_root(enum hc_format f, struct hc_near variance, double eps)
{
    struct hc_near root =
        hc_near_sqrt(f, hc_near_add(f, variance, hc_near_exact((double)(float)eps)));
    return hc_near_div(f, hc_near_exact(1), root);
}

/* (x - mean) * invstd * gamma + beta: invstd * gamma first gives the same count of roundings, but
   other intermediate results, which may underflow or overflow: the worse of both. */
static struct hc_near normalized(const struct hc_call *call, int64_t index, int64_t c,
                                 struct hc_near mean, struct hc_near invstd)
{
    enum hc_format f = hc_bound_work(call);
    struct hc_near d = hc_near_sub(f, hc_near_element(&call->in[0], index), mean);
    struct hc_near gamma = hc_near_element(&call->in[1], c);
    struct hc_near beta = hc_near_element(&call->in[2], c);
    struct hc_near apart = hc_near_mul(f, hc_near_mul(f, d, invstd), gamma);
    struct hc_near folded = hc_near_mul(f, d, hc_near_mul(f, invstd, gamma));
    apart = hc_near_add(f, apart, beta);
    apart.error = fmax(apart.error, hc_near_add(f, folded, beta).error);
    return apart;
}

/* z rounded into its format (the working format's rounding is in z already): an infinity for certain where all that
   z can be lies beyond the largest number and half an ulp, anything where some of it does. */
static struct hc_near held(enum hc_format f, enum hc_format work, struct hc_near z)
{
    double end = hc_format_max(f) + hc_ulp(f, hc_format_max(f)) / 2;
    if (fabs(z.value) - z.error >= end)
        return hc_near_exact(copysign((double)INFINITY, z.value));
    if (!(fabs(z.value) + z.error < end))
        z.error = (double)INFINITY;
    else if (f != work)
        z.error += hc_ulp(f, fabs(z.value) + z.error) / 2;
    return z;
}

/* leaky_relu after z, without the last rounding into the output, which hc_bound adds. Above zero
   that is the rounding of z itself; below, z is rounded first and the product is. Where z may lie on
   either side, or is NaN: the function stretches nothing by more than max(1, |slope|). */
static double leaked(const struct hc_call *call, struct hc_near z)
{
    enum hc_format f = hc_bound_work(call);
    double slope = (double)(float)call->params.bn.slope;
    struct hc_near h = held(call->out[0].format, f, z);
    if (h.value > z.error)
        return isinf(h.error) ? h.error : isinf(h.value) ? 0 : z.error;
    double by = -h.value > z.error ? fabs(slope) : fmax(1, fabs(slope));
    return hc_near_mul(f, hc_near_exact(by), h).error;
}

/* r + m (batch - r), or (1 - m) r + m batch: the worse of both orders. Of an infinite r the first makes NaN
   and the second keeps it, so nothing is promised there. */
static double blended(enum hc_format f, const struct hc_tensor *running, int64_t c,
                      struct hc_near batch, double momentum)
{
    struct hc_near r = hc_near_element(running, c);
    if (isinf(r.value))
        return (double)INFINITY;
    struct hc_near m = hc_near_exact((double)(float)momentum);
    struct hc_near move = hc_near_mul(f, m, hc_near_sub(f, batch, r));
    struct hc_near kept = hc_near_mul(f, hc_near_sub(f, hc_near_exact(1), m), r);
    struct hc_near mixed = hc_near_add(f, kept, hc_near_mul(f, m, batch));
    return fmax(hc_near_add(f, r, move).error, mixed.error);
}

static double train(const struct hc_call *call, int out, int64_t index, bool leaky)
{
    enum hc_format f = hc_bound_work(call);
    const struct hc_tensor *x = &call->in[0];
    int64_t channels = x->shape[x->rank - 1];
    int64_t c = index % channels;
    int64_t n = hc_tensor_count(x) / channels;
    struct moments m = channel(f, x, c);
    struct hc_near invstd = inverse_root(f, m.variance, call->params.bn.eps);
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
        return blended(f, &call->in[3], c, m.mean, call->params.bn.momentum);
    default:
        if (n > 1) /* M / (M - 1) is a division, and a multiplication by it another rounding */
            unbiased = hc_near_mul(
                f, m.variance,
                hc_near_div(f, hc_near_exact((double)n), hc_near_exact((double)(n - 1))));
        return blended(f, &call->in[4], c, unbiased, call->params.bn.momentum);
    }
}

static struct hc_near infer(const struct hc_call *call, int64_t index)
{
    const struct hc_tensor *x = &call->in[0];
    int64_t c = index % x->shape[x->rank - 1];
    struct hc_near invstd =
        inverse_root(hc_bound_work(call), hc_near_element(&call->in[4], c), call->params.bn.eps);
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
