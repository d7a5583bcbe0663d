/* SGD, and compensated weights: the orders of roundings that kernels/element/sgd.h and kernels/element/kahan.h state, in
   running error analysis (ball.h), every intermediate result in `arithmetic`, coefficients in fp64 before
   that. */
#include <math.h>

#include "check/bound/rules.h"

static struct hc_ball stored(enum hc_format f, double coefficient)
{
    return hc_ball_into(f, hc_ball_exact(coefficient));
}

static struct hc_ball product(double x, double y)
{
    return hc_ball_mul(HC_FP64, hc_ball_exact(x), hc_ball_exact(y));
}

static struct hc_ball rest(struct hc_ball x)
{
    return hc_ball_sub(HC_FP64, hc_ball_exact(1), x);
}

static bool skipped(const struct hc_tensor *found)
{
    return found->data && hc_tensor_get(found, 0) != 0;
}

double hc_bound_compensated(const struct hc_element *e, enum hc_format f, bool want_c,
                            struct hc_ball w, struct hc_ball c, struct hc_ball u)
{
    enum hc_format narrow = e->call->in[HC_SGD_W].format;
    struct hc_ball y = hc_ball_sub(f, c, u);
    if (!want_c)
        return hc_ball_add(f, w, y).rad;
    struct hc_ball sum = hc_ball_add(HC_FP32, w, y); /* rounding it into w's format is s */
    double least = hc_round(narrow, sum.mid - sum.rad);
    double most = hc_round(narrow, sum.mid + sum.rad);
    struct hc_ball s = hc_ball_exact(hc_round(narrow, sum.mid));
    if (!(least == most))
        s.rad = fabs(most - least);
    return hc_ball_sub(f, y, hc_ball_sub(f, s, w)).rad;
}

double hc_bound_sgd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                    const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    (void)accumulator;
    (void)want;
    const struct hc_sgd *p = &call->params.sgd;
    enum hc_format f = p->arithmetic;
    if (skipped(&call->in[4]))
        return 0;
    double rate = hc_tensor_get(&call->in[3], 0);
    struct hc_ball lr = stored(f, rate);
    struct hc_ball beta = stored(f, hc_tensor_get(&call->in[3], 1));
    struct hc_ball w = hc_ball_element(&call->in[0], e->index);
    struct hc_ball g = hc_ball_element(&call->in[1], e->index);
    struct hc_ball v = hc_ball_element(&call->in[2], e->index);
    bool kahan = call->in[5].data;
    if (p->decoupled && !kahan)
        w = hc_ball_mul(f, w, hc_ball_into(f, rest(product(rate, p->weight_decay))));
    else if (!p->decoupled && p->weight_decay != 0)
        g = hc_ball_add(f, g, hc_ball_mul(f, stored(f, p->weight_decay), w));
    if (p->rate_inside)
        g = hc_ball_mul(f, lr, g);
    v = hc_ball_add(f, hc_ball_mul(f, beta, v), g);
    if (e->out == 1)
        return v.rad;
    if (p->nesterov)
        v = hc_ball_add(f, g, hc_ball_mul(f, beta, v));
    struct hc_ball u = p->rate_inside ? v : hc_ball_mul(f, lr, v);
    if (!kahan)
        return hc_ball_sub(f, w, u).rad;
    if (p->decoupled)
        u = hc_ball_add(f, u, hc_ball_mul(f, hc_ball_into(f, product(rate, p->weight_decay)), w));
    return hc_bound_compensated(e, f, e->out == 2, w, hc_ball_element(&call->in[5], e->index), u);
}
