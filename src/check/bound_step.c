/* SGD, and compensated weights: the orders of roundings that kernels/sgd.h and kernels/kahan.h state, in
   running error analysis (near.h), every intermediate result in `arithmetic`, coefficients in fp64 before
   that. */
#include <math.h>

#include "check/bound_rules.h"

static struct hc_near stored(enum hc_format f, double coefficient)
{
    return hc_near_into(f, hc_near_exact(coefficient));
}

static struct hc_near product(double x, double y)
{
    return hc_near_mul(HC_FP64, hc_near_exact(x), hc_near_exact(y));
}

static struct hc_near rest(struct hc_near x)
{
    return hc_near_sub(HC_FP64, hc_near_exact(1), x);
}

static bool skipped(const struct hc_tensor *found)
{
    return found->data && hc_tensor_get(found, 0) != 0;
}

double hc_bound_compensated(const struct hc_call *call, enum hc_format f, bool want_c,
                            struct hc_near w, struct hc_near c, struct hc_near u)
{
    enum hc_format narrow = call->in[0].format;
    struct hc_near y = hc_near_sub(f, c, u);
    if (!want_c)
        return hc_near_add(f, w, y).error;
    struct hc_near sum = hc_near_add(HC_FP32, w, y); /* rounding it into w's format is s */
    double least = hc_round(narrow, sum.value - sum.error);
    double most = hc_round(narrow, sum.value + sum.error);
    struct hc_near s = hc_near_exact(hc_round(narrow, sum.value));
    if (!(least == most))
        s.error = fabs(most - least);
    return hc_near_sub(f, y, hc_near_sub(f, s, w)).error;
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
    struct hc_near lr = stored(f, rate);
    struct hc_near beta = stored(f, hc_tensor_get(&call->in[3], 1));
    struct hc_near w = hc_near_element(&call->in[0], index);
    struct hc_near g = hc_near_element(&call->in[1], index);
    struct hc_near v = hc_near_element(&call->in[2], index);
    bool kahan = call->in[5].data;
    if (p->decoupled && !kahan)
        w = hc_near_mul(f, w, hc_near_into(f, rest(product(rate, p->weight_decay))));
    else if (!p->decoupled && p->weight_decay != 0)
        g = hc_near_add(f, g, hc_near_mul(f, stored(f, p->weight_decay), w));
    if (p->rate_inside)
        g = hc_near_mul(f, lr, g);
    v = hc_near_add(f, hc_near_mul(f, beta, v), g);
    if (out == 1)
        return v.error;
    if (p->nesterov)
        v = hc_near_add(f, g, hc_near_mul(f, beta, v));
    struct hc_near u = p->rate_inside ? v : hc_near_mul(f, lr, v);
    if (!kahan)
        return hc_near_sub(f, w, u).error;
    if (p->decoupled)
        u = hc_near_add(f, u, hc_near_mul(f, hc_near_into(f, product(rate, p->weight_decay)), w));
    return hc_bound_compensated(call, f, out == 2, w, hc_near_element(&call->in[5], index), u);
}
