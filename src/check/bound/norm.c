/* Batch norm, and below it its gradients: the definition again, in running error analysis
   (ball.h). */
#include <math.h>

#include "check/bound/norm.h"
#include "num/ulp.h"
#include "reference.h"

struct hc_ball hc_ball_element(const struct hc_tensor *t, int64_t i)
{
    return hc_ball_exact(hc_tensor_get(t, i));
}

static struct hc_ball divided(enum hc_format f, struct hc_ball x, int64_t n)
{
    return hc_ball_div(f, x, hc_ball_exact((double)n));
}

/* sum (x - mean)^2 where the computed mean has strayed by d, |d| <= D. The computed terms are
     (x - mean - d)^2 (1 + e1)^2 (1 + e2),
   and, since sum (x - mean) = 0,
     sum (x - mean - d)^2 = V + n d^2,   V = sum (x - mean)^2:
   there is no term in d alone. All are positive, so with the n - 1 additions the computed sum is
     (V + n d^2)(1 + t),   |t| <= (1 + u)^3 (1 + (n - 1) u) - 1.
   A square may underflow, and lose half of the smallest number. In fp64 v is a pair of numbers, as
   its mean is, of which each square may lose as much. */
static struct hc_ball squares(enum hc_format f, struct hc_ball v, double n, double strayed)
{
    double u = hc_format_unit(f);
    double t = expm1(3 * log1p(u) + log1p((n - 1) * u)) + n * (f == HC_FP64 ? 0x1p-90 : 0x1p-52);
    double off = n * strayed * strayed;
    double error = off + t * (v.mid + off) + n * hc_half_ulp(f, 0);
    v.rad = v.mid + error <= hc_format_max(f) ? error : (double)INFINITY;
    return v;
}

/* sum (x - mean)^2 of channel c. */
static struct hc_ball deviation(enum hc_format f, const struct hc_tensor *x, int64_t c,
                                struct hc_ball mean)
{
    int64_t channels = x->shape[x->rank - 1];
    struct hc_ball_sum squared = {0};
    double v = 0;
    mean.rad = 0;
    for (int64_t i = c; i < hc_tensor_count(x); i += channels) {
        double d = hc_tensor_get(x, i) - mean.mid;
        v += d * d;
        if (f != HC_FP64)
            continue;
        struct hc_ball of_pairs = hc_ball_sub(HC_REAL, hc_ball_element(x, i), mean);
        hc_ball_term(&squared, hc_ball_mul(HC_REAL, of_pairs, of_pairs));
    }
    return f == HC_FP64 && isfinite(v) ? hc_ball_total(HC_REAL, &squared) : hc_ball_exact(v);
}

struct hc_bound_moments hc_bound_channel(enum hc_format f, const struct hc_tensor *x, int64_t c)
{
    int64_t channels = x->shape[x->rank - 1];
    int64_t n = hc_tensor_count(x) / channels;
    struct hc_ball_sum sum = {0};
    for (int64_t i = 0; i < n; i++)
        hc_ball_term(&sum, hc_ball_element(x, i * channels + c));
    struct hc_bound_moments m = {.mean = divided(f, hc_ball_total(f, &sum), n)};
    struct hc_ball v = deviation(f, x, c, m.mean);
    m.variance = divided(f, squares(f, v, (double)n, m.mean.rad), n);
    return m;
}

static struct hc_ball inverse_root(enum hc_format f, struct hc_ball variance, double eps)
{
    struct hc_ball root = hc_ball_sqrt(f, hc_ball_add(f, variance, hc_ball_exact(eps)));
    return hc_ball_div(f, hc_ball_exact(1), root);
}

/* (x - mean) * invstd * gamma + beta. A backend may compute invstd * gamma first: that is as many
   roundings, but of other intermediate results, which may underflow or overflow. The radius is the
   larger one of both orders. */
static struct hc_ball normalized(const struct hc_element *e, int64_t c, struct hc_ball mean,
                                 struct hc_ball invstd)
{
    const struct hc_call *call = e->call;
    enum hc_format f = hc_bound_work(call);
    struct hc_ball d = hc_ball_sub(f, hc_ball_element(&call->in[HC_BN_X], e->index), mean);
    struct hc_ball gamma = hc_ball_element(&call->in[HC_BN_GAMMA], c);
    struct hc_ball beta = hc_ball_element(&call->in[HC_BN_BETA], c);
    struct hc_ball apart = hc_ball_mul(f, hc_ball_mul(f, d, invstd), gamma);
    struct hc_ball folded = hc_ball_mul(f, d, hc_ball_mul(f, invstd, gamma));
    apart = hc_ball_add(f, apart, beta);
    apart.rad = fmax(apart.rad, hc_ball_add(f, folded, beta).rad);
    return apart;
}

/* z rounded into its format f (its rounding into the working format is in z already). It is an
   infinity for certain if all that z can be lies beyond the largest number and half an ulp; nothing
   is known of it if only some of that does. */
static struct hc_ball held(enum hc_format f, enum hc_format work, struct hc_ball z)
{
    double end = hc_format_max(f) + hc_half_ulp(f, hc_format_max(f));
    if (fabs(z.mid) - z.rad >= end)
        return hc_ball_exact(copysign((double)INFINITY, z.mid));
    if (!(fabs(z.mid) + z.rad < end))
        z.rad = (double)INFINITY;
    else if (f != work)
        z.rad += hc_half_ulp(f, fabs(z.mid) + z.rad);
    return z;
}

/* leaky_relu after z, without the last rounding into the output, which hc_bound adds. Above zero
   that is the rounding of z itself; below, z is rounded first, and the product is rounded again. If
   z may lie on either side, or is NaN, the function stretches nothing by more than max(1,
   |slope|). */
static double bound_leaked(const struct hc_call *call, struct hc_ball z)
{
    enum hc_format f = hc_bound_work(call);
    double slope = hc_bn_number(&call->params.bn, call->params.bn.slope);
    struct hc_ball h = held(call->out[HC_BN_Y].format, f, z);
    if (h.mid > z.rad)
        return isinf(h.rad) ? h.rad : isinf(h.mid) ? 0 : z.rad;
    double by = -h.mid > z.rad ? fabs(slope) : fmax(1, fabs(slope));
    return hc_ball_mul(f, hc_ball_exact(by), h).rad;
}

/* r + m (batch - r), or (1 - m) r + m batch: the larger bound of both orders. If r is infinite, the
   first order gives NaN and the second keeps it, so nothing is promised. */
static double blended(enum hc_format f, const struct hc_tensor *running, int64_t c,
                      struct hc_ball batch, double momentum)
{
    struct hc_ball r = hc_ball_element(running, c);
    if (isinf(r.mid))
        return (double)INFINITY;
    struct hc_ball m = hc_ball_exact(momentum);
    struct hc_ball move = hc_ball_mul(f, m, hc_ball_sub(f, batch, r));
    struct hc_ball kept = hc_ball_mul(f, hc_ball_sub(f, hc_ball_exact(1), m), r);
    struct hc_ball mixed = hc_ball_add(f, kept, hc_ball_mul(f, m, batch));
    return fmax(hc_ball_add(f, r, move).rad, mixed.rad);
}

/* A number of elements in f, which holds small ones. */
static struct hc_ball count_of(enum hc_format f, int64_t m)
{
    double n = (double)m;
    return hc_round(f, n) == n ? hc_ball_exact(n) : hc_ball_stored(f, n);
}

/* M / (M - 1) is a division, and a multiplication by it another rounding. */
static struct hc_ball unbiased(enum hc_format f, struct hc_ball variance, int64_t m)
{
    if (m <= 1)
        return variance;
    return hc_ball_mul(f, variance, hc_ball_div(f, count_of(f, m), count_of(f, m - 1)));
}

const struct hc_bound_norm hc_bound_norm_stated = {inverse_root, normalized, blended, unbiased};

double hc_bound_of_moments(const struct hc_element *e, const struct hc_bound_norm *by,
                           struct hc_bound_moments m, int64_t elements)
{
    const struct hc_call *call = e->call;
    enum hc_format f = hc_bound_work(call);
    const struct hc_bn *p = &call->params.bn;
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t c = e->index % x->shape[x->rank - 1];
    double momentum = hc_bn_number(p, p->momentum);
    struct hc_ball invstd = by->inverse_root(f, m.variance, hc_bn_number(p, p->eps));
    struct hc_ball z;
    switch (e->out) {
    case HC_BN_Y:
        z = by->normalized(e, c, m.mean, invstd);
        return call->op == HC_OP_bn_leaky_train ? bound_leaked(call, z) : z.rad;
    case HC_BN_SAVED_MEAN:
        return m.mean.rad;
    case HC_BN_SAVED_INVSTD:
        return invstd.rad;
    case HC_BN_NEW_MEAN:
        return by->blended(f, &call->in[HC_BN_MEAN], c, m.mean, momentum);
    default:
        return by->blended(f, &call->in[HC_BN_VARIANCE], c, by->unbiased(f, m.variance, elements),
                           momentum);
    }
}

double hc_bound_of_infer(const struct hc_element *e, const struct hc_bound_norm *by)
{
    const struct hc_call *call = e->call;
    const struct hc_bn *p = &call->params.bn;
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t c = e->index % x->shape[x->rank - 1];
    struct hc_ball variance = hc_ball_element(&call->in[HC_BN_VARIANCE], c);
    struct hc_ball invstd =
        by->inverse_root(hc_bound_work(call), variance, hc_bn_number(p, p->eps));
    struct hc_ball z = by->normalized(e, c, hc_ball_element(&call->in[HC_BN_MEAN], c), invstd);
    return call->op == HC_OP_bn_leaky_infer ? bound_leaked(call, z) : z.rad;
}

/* hc_bound_channel of a batch; found, if it was asked for before in this thread and nobody has
   changed the call. */
static struct hc_bound_moments moments_of(const struct hc_call *call, int64_t c)
{
    static _Thread_local struct hc_kept kept[HC_KEPT_CHANNELS];
    static _Thread_local struct hc_bound_moments moments[HC_KEPT_CHANNELS];
    int at = (int)(c % HC_KEPT_CHANNELS);
    if (!hc_is_kept(&kept[at], hc_reference_promise(call), c))
        moments[at] = hc_bound_channel(hc_bound_work(call), &call->in[HC_BN_X], c);
    return moments[at];
}

double hc_bound_bn_train(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_tensor *x = &e->call->in[HC_BN_X];
    int64_t channels = x->shape[x->rank - 1];
    return hc_bound_of_moments(e, &hc_bound_norm_stated, moments_of(e->call, e->index % channels),
                               hc_tensor_count(x) / channels);
}

double hc_bound_bn_infer(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    return hc_bound_of_infer(e, &hc_bound_norm_stated);
}

double hc_bound_bn_moments(const struct hc_element *e, const struct hc_accumulator *accumulator,
                           const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_call *call = e->call;
    struct hc_bound_moments m =
        hc_bound_channel(hc_bound_work(call), &call->in[HC_BN_MOMENTS_X], e->index);
    return e->out == HC_BN_MOMENTS_MEAN ? m.mean.rad : m.variance.rad;
}

/* Batch norm, gradients: the definition again, in running error analysis (ball.h). bn_leaky_bwd's
   dz is rounded as the contract says, on every backend alike, and carries no error. What comes
   after it is bn_bwd. Mean and invstd carry no error, either, unless nobody told those that were
   used: then the real ones are given, and with them how far those that were used may stray. */

/* The inputs, by the names that all gradients share. */
struct inputs {
    const struct hc_tensor *x;
    const struct hc_tensor *y; /* of bn_leaky_bwd alone, else NULL */
    const struct hc_tensor *dy;
    const struct hc_tensor *gamma; /* NULL in bn_bwd_sums */
    const struct hc_tensor *mean;
    const struct hc_tensor *invstd;
    const struct hc_strayed *strayed; /* or NULL */
    double slope;
    int64_t channels;
    int64_t per_channel; /* elements */
    enum hc_format work;
};

static struct inputs inputs_of(const struct hc_call *call)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    const struct hc_tensor *x = &call->in[s->x];
    return (struct inputs){.x = x,
                           .y = s->y < 0 ? NULL : &call->in[s->y],
                           .dy = &call->in[s->dy],
                           .gamma = s->gamma < 0 ? NULL : &call->in[s->gamma],
                           .mean = &call->in[s->mean],
                           .invstd = &call->in[s->invstd],
                           .slope = hc_bn_number(&call->params.bn, call->params.bn.slope),
                           .channels = x->shape[x->rank - 1],
                           .per_channel = hc_tensor_count(x) / x->shape[x->rank - 1],
                           .work = hc_bound_work(call)};
}

static struct hc_ball dz_of(const struct inputs *in, int64_t i)
{
    double dy = hc_tensor_get(in->dy, i);
    if (in->y && !(hc_tensor_get(in->y, i) > 0))
        dy = hc_round(in->dy->format, hc_round(in->work, in->slope * dy));
    return hc_ball_exact(dy);
}

static struct hc_ball mean_of(const struct inputs *in, int64_t c)
{
    struct hc_ball mean = hc_ball_element(in->mean, c);
    mean.rad = in->strayed ? in->strayed->mean[c] : 0;
    return mean;
}

static struct hc_ball invstd_of(const struct inputs *in, int64_t c)
{
    struct hc_ball invstd = hc_ball_element(in->invstd, c);
    invstd.rad = in->strayed ? in->strayed->invstd[c] : 0;
    return invstd;
}

/* (x - mean) invstd */
static struct hc_ball normalized_input(const struct inputs *in, int64_t i, int64_t c)
{
    struct hc_ball d = hc_ball_sub(in->work, hc_ball_element(in->x, i), mean_of(in, c));
    return hc_ball_mul(in->work, d, invstd_of(in, c));
}

/* dgamma and dbeta of channel c. */
static void add_sums(const struct inputs *in, int64_t c, struct hc_ball *dgamma,
                     struct hc_ball *dbeta)
{
    struct hc_ball_sum terms_of_dgamma = {0};
    struct hc_ball_sum terms_of_dbeta = {0};
    for (int64_t i = c; i < hc_tensor_count(in->x); i += in->channels) {
        struct hc_ball dz = dz_of(in, i);
        hc_ball_term(&terms_of_dbeta, dz);
        hc_ball_term(&terms_of_dgamma, hc_ball_mul(in->work, dz, normalized_input(in, i, c)));
    }
    /* dgamma = invstd * sum dz (x - mean) has as many roundings. */
    *dgamma = hc_ball_total(in->work, &terms_of_dgamma);
    *dbeta = hc_ball_total(in->work, &terms_of_dbeta);
}

/* The same; found, if they were added up before in this thread and nobody has changed the call. */
static void sums_of(const struct hc_call *call, const struct inputs *in, int64_t c,
                    struct hc_ball *dgamma, struct hc_ball *dbeta)
{
    static _Thread_local struct hc_kept kept[HC_KEPT_CHANNELS];
    static _Thread_local struct hc_ball sums[HC_KEPT_CHANNELS][2];
    uint64_t promise = in->strayed ? 0 : hc_reference_promise(call);
    int at = (int)(c % HC_KEPT_CHANNELS);
    if (!hc_is_kept(&kept[at], promise, c))
        add_sums(in, c, &sums[at][0], &sums[at][1]);
    *dgamma = sums[at][0];
    *dbeta = sums[at][1];
}

double hc_bound_bn_bwd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                       const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    return hc_bound_bn_bwd_strayed(e, NULL);
}

/* gamma invstd ((dz - mean of dz) - xhat (mean of dz xhat)) of element e */
static double input_gradient(const struct inputs *in, const struct hc_element *e,
                             struct hc_ball mean_dgamma, struct hc_ball mean_dbeta)
{
    enum hc_format f = in->work;
    int64_t c = e->index % in->channels;
    struct hc_ball by_gamma = hc_ball_mul(f, normalized_input(in, e->index, c), mean_dgamma);
    struct hc_ball dx = hc_ball_sub(f, dz_of(in, e->index), mean_dbeta);
    dx = hc_ball_sub(f, dx, by_gamma);
    struct hc_ball scale = hc_ball_mul(f, hc_ball_element(in->gamma, c), invstd_of(in, c));
    return hc_ball_mul(f, scale, dx).rad;
}

double hc_bound_bn_bwd_strayed(const struct hc_element *e, const struct hc_strayed *strayed)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(e->call->op);
    struct inputs in = inputs_of(e->call);
    in.strayed = strayed;
    struct hc_ball dgamma;
    struct hc_ball dbeta;
    sums_of(e->call, &in, e->index % in.channels, &dgamma, &dbeta);
    if (e->out != s->dx)
        return e->out == s->dgamma ? dgamma.rad : dbeta.rad;
    struct hc_ball n = hc_ball_exact((double)in.per_channel);
    return input_gradient(&in, e, hc_ball_div(in.work, dgamma, n), hc_ball_div(in.work, dbeta, n));
}

/* The means are given, and carry no error. */
double hc_bound_bn_bwd_apply(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    struct inputs in = inputs_of(e->call);
    int64_t c = e->index % in.channels;
    return input_gradient(&in, e, hc_ball_element(&e->call->in[HC_BN_BWD_APPLY_MEAN_DGAMMA], c),
                          hc_ball_element(&e->call->in[HC_BN_BWD_APPLY_MEAN_DBETA], c));
}

/* In any order: gamma invstd (dz - dbeta / n - (x - mean) invstd dgamma / n) with its bracket
   multiplied out has three monomials, x - mean being one operand, which both orders compute first.
   Between an operand and the result lie at most eight roundings: the difference, five products or
   quotients, and two sums. */
static double any_input_gradient(const struct inputs *in, const struct hc_element *e,
                                 struct hc_ball mean_dgamma, struct hc_ball mean_dz)
{
    int64_t c = e->index % in->channels;
    double gamma = hc_tensor_get(in->gamma, c);
    double invstd = hc_tensor_get(in->invstd, c);
    struct hc_ball dz = dz_of(in, e->index);
    struct hc_ball x = hc_ball_sub(HC_REAL, hc_ball_element(in->x, e->index), mean_of(in, c));
    x = hc_ball_mul(HC_REAL, x, hc_ball_exact(invstd));
    struct hc_ball by_gamma = hc_ball_mul(HC_REAL, x, mean_dgamma);
    double scale = fabs(gamma * invstd);
    double magnitude =
        fabs(dz.mid) + fabs(mean_dz.mid) + mean_dz.rad + fabs(by_gamma.mid) + by_gamma.rad;
    struct hc_ball dx = hc_ball_of(gamma * invstd * (dz.mid - mean_dz.mid - by_gamma.mid),
                                   scale * (mean_dz.rad + by_gamma.rad));
    double after = fmax(fmax(fabs(gamma), 1) * fmax(invstd * invstd, 1), fabs(x.mid));
    double largest = fmax(magnitude, magnitude * fabs(invstd)) * fmax(fabs(gamma), 1);
    dx = hc_ball_any_order(in->work, dx, scale * magnitude, 8, after);
    if (!(largest <= hc_format_max(in->work)))
        dx.rad = (double)INFINITY;
    return dx.rad;
}

double hc_bound_any_bn_bwd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                           const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(e->call->op);
    struct inputs in = inputs_of(e->call);
    struct hc_ball dgamma;
    struct hc_ball dbeta;
    sums_of(e->call, &in, e->index % in.channels, &dgamma, &dbeta);
    if (e->out != s->dx)
        return e->out == s->dgamma ? dgamma.rad : dbeta.rad;
    struct hc_ball n = hc_ball_exact((double)in.per_channel);
    return any_input_gradient(&in, e, hc_ball_div(HC_REAL, dgamma, n),
                              hc_ball_div(HC_REAL, dbeta, n));
}

double hc_bound_any_bn_bwd_apply(const struct hc_element *e,
                                 const struct hc_accumulator *accumulator,
                                 const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    struct inputs in = inputs_of(e->call);
    int64_t c = e->index % in.channels;
    return any_input_gradient(&in, e, hc_ball_element(&e->call->in[HC_BN_BWD_APPLY_MEAN_DGAMMA], c),
                              hc_ball_element(&e->call->in[HC_BN_BWD_APPLY_MEAN_DBETA], c));
}
