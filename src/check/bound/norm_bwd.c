/* Batch norm, gradients: the definition again, in running error analysis (ball.h). */
#include "check/bound/rules.h"

/* bn_leaky_bwd has y before dy; its dz is rounded as the contract says, on every backend alike, and
   carries no error: what comes after is bn_bwd. */
struct tensors {
    const struct hc_call *call;
    bool leaky;
    const struct hc_tensor *dy; /* and after it gamma, mean, invstd */
    int64_t channels;
    enum hc_format work;
};

static struct tensors tensors_of(const struct hc_call *call, bool leaky)
{
    const struct hc_tensor *x = &call->in[0];
    return (struct tensors){call, leaky, &call->in[leaky ? 2 : 1], x->shape[x->rank - 1],
                            hc_bound_work(call)};
}

static struct hc_ball dz_of(const struct tensors *t, int64_t i)
{
    double dy = hc_tensor_get(t->dy, i);
    double slope = (double)(float)t->call->params.bn.slope;
    if (t->leaky && !(hc_tensor_get(&t->call->in[1], i) > 0))
        dy = hc_round(t->dy->format, hc_round(t->work, slope * dy));
    return hc_ball_exact(dy);
}

static struct hc_ball hat(const struct tensors *t, int64_t i, int64_t c)
{
    struct hc_ball d =
        hc_ball_sub(t->work, hc_ball_element(&t->call->in[0], i), hc_ball_element(t->dy + 2, c));
    return hc_ball_mul(t->work, d, hc_ball_element(t->dy + 3, c));
}

struct gradients {
    struct hc_ball dgamma;
    struct hc_ball dbeta;
};

/* dgamma = invstd * sum dz (x - mean) has as many roundings. */
static struct gradients sums(const struct tensors *t, int64_t c)
{
    struct hc_ball_sum dgamma = {0};
    struct hc_ball_sum dbeta = {0};
    for (int64_t i = c; i < hc_tensor_count(&t->call->in[0]); i += t->channels) {
        struct hc_ball dz = dz_of(t, i);
        hc_ball_term(&dbeta, dz);
        hc_ball_term(&dgamma, hc_ball_mul(t->work, dz, hat(t, i, c)));
    }
    return (struct gradients){hc_ball_total(t->work, &dgamma), hc_ball_total(t->work, &dbeta)};
}

static double gradient(const struct hc_call *call, bool leaky, int out, int64_t index)
{
    struct tensors t = tensors_of(call, leaky);
    int64_t c = index % t.channels;
    int64_t rows = hc_tensor_count(&call->in[0]) / t.channels;
    struct hc_ball n = hc_ball_exact((double)rows);
    struct gradients g = sums(&t, c);
    if (out > 0)
        return out == 1 ? g.dgamma.rad : g.dbeta.rad;
    struct hc_ball by_gamma =
        hc_ball_mul(t.work, hat(&t, index, c), hc_ball_div(t.work, g.dgamma, n));
    struct hc_ball dx = hc_ball_sub(t.work, dz_of(&t, index), hc_ball_div(t.work, g.dbeta, n));
    dx = hc_ball_sub(t.work, dx, by_gamma);
    struct hc_ball scale =
        hc_ball_mul(t.work, hc_ball_element(t.dy + 1, c), hc_ball_element(t.dy + 3, c));
    return hc_ball_mul(t.work, scale, dx).rad;
}

double hc_bound_bn_bwd(const struct hc_call *call, const struct hc_accumulator *accumulator,
                       int out, int64_t index, const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    return gradient(call, false, out, index);
}

double hc_bound_bn_leaky_bwd(const struct hc_call *call, const struct hc_accumulator *accumulator,
                             int out, int64_t index, const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    return gradient(call, true, out, index);
}
