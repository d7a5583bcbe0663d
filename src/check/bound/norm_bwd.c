/* Batch norm, gradients: the definition again, in running error analysis (ball.h). bn_leaky_bwd's
   dz is rounded as the contract says, on every backend alike, and carries no error. What comes
   after it is bn_bwd. */
#include "check/bound/rules.h"

/* The inputs, by the names that both ops share. */
struct inputs {
    const struct hc_tensor *x;
    const struct hc_tensor *y; /* NULL in bn_bwd */
    const struct hc_tensor *dy;
    const struct hc_tensor *gamma;
    const struct hc_tensor *mean;
    const struct hc_tensor *invstd;
    double slope;
    int64_t channels;
    enum hc_format work;
};

static struct inputs inputs_of(const struct hc_call *call)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    const struct hc_tensor *x = &call->in[s->x];
    return (struct inputs){.x = x,
                           .y = s->y < 0 ? NULL : &call->in[s->y],
                           .dy = &call->in[s->dy],
                           .gamma = &call->in[s->gamma],
                           .mean = &call->in[s->mean],
                           .invstd = &call->in[s->invstd],
                           .slope = (double)(float)call->params.bn.slope,
                           .channels = x->shape[x->rank - 1],
                           .work = hc_bound_work(call)};
}

static struct hc_ball dz_of(const struct inputs *in, int64_t i)
{
    double dy = hc_tensor_get(in->dy, i);
    if (in->y && !(hc_tensor_get(in->y, i) > 0))
        dy = hc_round(in->dy->format, hc_round(in->work, in->slope * dy));
    return hc_ball_exact(dy);
}

/* (x - mean) invstd */
static struct hc_ball normalized(const struct inputs *in, int64_t i, int64_t c)
{
    struct hc_ball d =
        hc_ball_sub(in->work, hc_ball_element(in->x, i), hc_ball_element(in->mean, c));
    return hc_ball_mul(in->work, d, hc_ball_element(in->invstd, c));
}

double hc_bound_bn_bwd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                       const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    struct inputs in = inputs_of(e->call);
    enum hc_format f = in.work;
    int64_t c = e->index % in.channels;
    struct hc_ball_sum terms_of_dgamma = {0};
    struct hc_ball_sum terms_of_dbeta = {0};
    for (int64_t i = c; i < hc_tensor_count(in.x); i += in.channels) {
        struct hc_ball dz = dz_of(&in, i);
        hc_ball_term(&terms_of_dbeta, dz);
        hc_ball_term(&terms_of_dgamma, hc_ball_mul(f, dz, normalized(&in, i, c)));
    }
    /* dgamma = invstd * sum dz (x - mean) has as many roundings. */
    struct hc_ball dgamma = hc_ball_total(f, &terms_of_dgamma);
    struct hc_ball dbeta = hc_ball_total(f, &terms_of_dbeta);
    if (e->out != HC_BN_BWD_DX)
        return e->out == HC_BN_BWD_DGAMMA ? dgamma.rad : dbeta.rad;
    int64_t elements = hc_tensor_count(in.x) / in.channels;
    struct hc_ball n = hc_ball_exact((double)elements);
    struct hc_ball by_gamma =
        hc_ball_mul(f, normalized(&in, e->index, c), hc_ball_div(f, dgamma, n));
    struct hc_ball dx = hc_ball_sub(f, dz_of(&in, e->index), hc_ball_div(f, dbeta, n));
    dx = hc_ball_sub(f, dx, by_gamma);
    struct hc_ball scale =
        hc_ball_mul(f, hc_ball_element(in.gamma, c), hc_ball_element(in.invstd, c));
    return hc_ball_mul(f, scale, dx).rad;
}
