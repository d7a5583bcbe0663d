/* SGD, and compensated weights, in running error analysis (ball.h). The orders of roundings are
   those that kernels/element/sgd.h and kernels/element/kahan.h state: every intermediate result is
   rounded into `arithmetic`, and coefficients are computed in fp64 before that. */
#include <math.h>

#include "check/bound/any_order.h"
#include "check/bound/rules.h"

bool hc_bound_skipped(const struct hc_call *call)
{
    const struct hc_tensor *found_inf = &call->in[hc_optimizer_slots(call->op)->found_inf];
    return found_inf->data && hc_tensor_get(found_inf, 0) != 0;
}

double hc_bound_compensated(const struct hc_element *e, enum hc_format f, bool want_c,
                            struct hc_ball w, struct hc_ball c, struct hc_ball u)
{
    enum hc_format narrow = e->call->in[HC_FIRST].format;
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
    if (hc_bound_skipped(call))
        return 0;
    const struct hc_tensor *hyper = &call->in[HC_SGD_HYPER];
    const struct hc_tensor *compensation = &call->in[HC_SGD_COMPENSATION];
    double rate = hc_tensor_get(hyper, HC_HYPER_LR);
    struct hc_ball lr = hc_ball_stored(f, rate);
    struct hc_ball beta = hc_ball_stored(f, hc_tensor_get(hyper, HC_HYPER_BETA1));
    struct hc_ball decay = hc_ball_product(rate, p->weight_decay);
    struct hc_ball w = hc_ball_element(&call->in[HC_SGD_W], e->index);
    struct hc_ball g = hc_ball_element(&call->in[HC_SGD_G], e->index);
    struct hc_ball v = hc_ball_element(&call->in[HC_SGD_MOMENTUM], e->index);
    bool kahan = compensation->data;
    if (p->decoupled && !kahan)
        w = hc_ball_mul(f, w, hc_ball_into(f, hc_ball_one_minus(decay)));
    else if (!p->decoupled && p->weight_decay != 0)
        g = hc_ball_add(f, g, hc_ball_mul(f, hc_ball_stored(f, p->weight_decay), w));
    if (p->rate_inside)
        g = hc_ball_mul(f, lr, g);
    v = hc_ball_add(f, hc_ball_mul(f, beta, v), g);
    if (e->out == HC_SGD_NEW_MOMENTUM)
        return v.rad;
    if (p->nesterov)
        v = hc_ball_add(f, g, hc_ball_mul(f, beta, v));
    struct hc_ball u = p->rate_inside ? v : hc_ball_mul(f, lr, v);
    if (!kahan)
        return hc_ball_sub(f, w, u).rad;
    if (p->decoupled)
        u = hc_ball_add(f, u, hc_ball_mul(f, hc_ball_into(f, decay), w));
    return hc_bound_compensated(e, f, e->out == HC_SGD_NEW_COMPENSATION, w,
                                hc_ball_element(compensation, e->index), u);
}

static struct hc_polynomial stored(const struct hc_tensor *t, int64_t i)
{
    return hc_polynomial_of(hc_ball_exact(hc_tensor_get(t, i)));
}

/* Any order: everything but the weight is a polynomial in numbers that carry no error. */
double hc_bound_any_sgd(const struct hc_element *e, const struct hc_accumulator *accumulator,
                        const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_sgd *p = &call->params.sgd;
    const struct hc_tensor *hyper = &call->in[HC_SGD_HYPER];
    (void)accumulator;
    (void)want;
    if (hc_bound_skipped(call))
        return 0;
    double lr = hc_tensor_get(hyper, HC_HYPER_LR);
    double beta = hc_tensor_get(hyper, HC_HYPER_BETA1);
    struct hc_polynomial w = stored(&call->in[HC_SGD_W], e->index);
    struct hc_polynomial d = stored(&call->in[HC_SGD_G], e->index);
    struct hc_polynomial v = stored(&call->in[HC_SGD_MOMENTUM], e->index);
    if (!p->decoupled && p->weight_decay != 0)
        d = hc_polynomial_sum(d, hc_polynomial_scaled(p->weight_decay, w));
    if (p->rate_inside)
        d = hc_polynomial_scaled(lr, d);
    v = hc_polynomial_sum(hc_polynomial_scaled(beta, v), d);
    double after = fmax(fmax(fabs(lr), fabs(beta)), 1);
    if (e->out == HC_SGD_NEW_MOMENTUM)
        return hc_polynomial_ball(p->arithmetic, v, after).rad;
    if (p->nesterov)
        v = hc_polynomial_sum(d, hc_polynomial_scaled(beta, v));
    struct hc_ball u = hc_polynomial_ball(
        p->arithmetic, p->rate_inside ? v : hc_polynomial_scaled(lr, v), after * after);
    double decay = p->decoupled ? lr * p->weight_decay : 0;
    if (!call->in[HC_SGD_COMPENSATION].data)
        return hc_any_weight(p->arithmetic, hc_ball_exact(w.value), decay, u).rad;
    return hc_any_compensated(e, p->arithmetic, e->out == HC_SGD_NEW_COMPENSATION,
                              &call->in[HC_SGD_COMPENSATION], decay, u);
}
