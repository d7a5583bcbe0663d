/* Optimizers: the orders of roundings that kernels/sgd.h and kernels/adam.h state, in running error
   analysis (near.h), every intermediate result in `arithmetic`. */
#include <math.h>

#include "check/bound_rules.h"

static bool skipped(const struct hc_tensor *found)
{
    return found->data && hc_tensor_get(found, 0) != 0;
}

double hc_bound_sgd(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
                    int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_sgd *p = &call->params.sgd;
    enum hc_format f = p->arithmetic;
    if (skipped(&call->in[4]))
        return 0;
    double rate = hc_tensor_get(&call->in[3], 0);
    struct hc_near lr = hc_near_coefficient(f, rate);
    struct hc_near beta = hc_near_coefficient(f, hc_tensor_get(&call->in[3], 1));
    struct hc_near w = hc_near_element(&call->in[0], index);
    struct hc_near g = hc_near_element(&call->in[1], index);
    struct hc_near v = hc_near_element(&call->in[2], index);
    if (p->decoupled)
        w = hc_near_mul(f, w, hc_near_coefficient(f, 1 - rate * p->weight_decay));
    else if (p->weight_decay != 0)
        g = hc_near_add(f, g, hc_near_mul(f, hc_near_coefficient(f, p->weight_decay), w));
    v = hc_near_add(f, hc_near_mul(f, beta, v), g);
    if (out == 1)
        return v.error;
    if (p->nesterov)
        v = hc_near_add(f, g, hc_near_mul(f, beta, v));
    return hc_near_sub(f, w, hc_near_mul(f, lr, v)).error;
}

static struct hc_near denominator(const struct hc_adam *p, struct hc_near v, double correction)
{
    enum hc_format f = p->arithmetic;
    struct hc_near eps = hc_near_coefficient(f, p->eps);
    struct hc_near by = hc_near_coefficient(f, p->eps_inside ? correction : sqrt(correction));
    if (p->eps_inside)
        return hc_near_sqrt(f, hc_near_add(f, hc_near_div(f, v, by), eps));
    return hc_near_add(f, hc_near_div(f, hc_near_sqrt(f, v), by), eps);
}

double hc_bound_adam(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
                     int64_t index, const struct hc_want *want)
{
    (void)accumulator;
    (void)want;
    const struct hc_adam *p = &call->params.adam;
    enum hc_format f = p->arithmetic;
    if (skipped(&call->in[5]))
        return 0;
    double lr = hc_tensor_get(&call->in[4], 0);
    double beta1 = hc_tensor_get(&call->in[4], 1);
    double t = hc_tensor_get(&call->in[4], 2);
    struct hc_near w = hc_near_element(&call->in[0], index);
    struct hc_near g = hc_near_element(&call->in[1], index);
    struct hc_near m = hc_near_element(&call->in[2], index);
    struct hc_near v = hc_near_element(&call->in[3], index);
    if (call->op == HC_OP_adamw)
        w = hc_near_mul(f, w, hc_near_coefficient(f, 1 - lr * p->weight_decay));
    else if (p->weight_decay != 0)
        g = hc_near_add(f, g, hc_near_mul(f, hc_near_coefficient(f, p->weight_decay), w));
    m = hc_near_add(f, hc_near_mul(f, hc_near_coefficient(f, beta1), m),
                    hc_near_mul(f, hc_near_coefficient(f, 1 - beta1), g));
    struct hc_near square =
        hc_near_mul(f, hc_near_mul(f, hc_near_coefficient(f, 1 - p->beta2), g), g);
    v = hc_near_add(f, hc_near_mul(f, hc_near_coefficient(f, p->beta2), v), square);
    if (out > 0)
        return out == 1 ? m.error : v.error;
    struct hc_near step = hc_near_coefficient(f, lr / (1 - pow(beta1, t)));
    struct hc_near d = denominator(p, v, 1 - pow(p->beta2, t));
    return hc_near_sub(f, w, hc_near_mul(f, step, hc_near_div(f, m, d))).error;
}
