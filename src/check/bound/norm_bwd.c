/* Batch norm, gradients: the definition again, in running error analysis (ball.h). bn_leaky_bwd's
   dz is rounded as the contract says, on every backend alike, and carries no error. What comes
   after it is bn_bwd. Mean and invstd carry no error, either, unless nobody told those that were
   used: then the real ones are given, and with them how far those that were used may stray. */
#include <math.h>

#include "check/bound/norm.h"
#include "reference.h"

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
static struct hc_ball normalized(const struct inputs *in, int64_t i, int64_t c)
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
        hc_ball_term(&terms_of_dgamma, hc_ball_mul(in->work, dz, normalized(in, i, c)));
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
    struct hc_ball by_gamma = hc_ball_mul(f, normalized(in, e->index, c), mean_dgamma);
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
    struct hc_ball x =
        hc_ball_product(hc_tensor_get(in->x, e->index) - hc_tensor_get(in->mean, c), invstd);
    struct hc_ball by_gamma = hc_ball_mul(HC_FP64, x, mean_dgamma);
    double scale = fabs(gamma * invstd);
    double magnitude =
        fabs(dz.mid) + fabs(mean_dz.mid) + mean_dz.rad + fabs(by_gamma.mid) + by_gamma.rad;
    struct hc_ball dx = {gamma * invstd * (dz.mid - mean_dz.mid - by_gamma.mid),
                         scale * (mean_dz.rad + by_gamma.rad)};
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
    return any_input_gradient(&in, e, hc_ball_div(HC_FP64, dgamma, n),
                              hc_ball_div(HC_FP64, dbeta, n));
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
