/* Optimizers: the orders of roundings that kernels/sgd.h and kernels/adam.h state, in running error
   analysis (near.h), every intermediate result in `arithmetic`, coefficients in fp64 before that. */
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

/* beta^t, 0 <= beta < 1, as a tree of products: t - 1 roundings, so that it is off by at most
   gamma(t - 1) <= t u of it in u = 2^-53 for t up to 2^24 (kernels/power.h), and by half the least number
   for each that underflows. `value` is the C library's, within an ulp, 2 u. */
static struct hc_near power(double beta, double t)
{
    double value = pow(beta, t);
    if (t == 1)
        return hc_near_exact(beta);
    return (struct hc_near){value, (t + 2) * 0x1p-53 * value + t * 0x1p-1074};
}

static bool skipped(const struct hc_tensor *found)
{
    return found->data && hc_tensor_get(found, 0) != 0;
}

/* The error of w (before it is rounded into its format) or of c as kernels/kahan.h has them, u off the
   weight. w is rounded to one of the numbers that w + y's error leaves, and the real sum is, too: where
   that is one number w's rounding adds nothing to c's error, otherwise the distance between them. */
static double compensated(const struct hc_call *call, enum hc_format f, bool want_c,
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
    return compensated(call, f, out == 2, w, hc_near_element(&call->in[5], index), u);
}

static struct hc_near denominator(const struct hc_adam *p, struct hc_near v,
                                  struct hc_near correction)
{
    enum hc_format f = p->arithmetic;
    struct hc_near eps = stored(f, p->eps);
    struct hc_near by =
        hc_near_into(f, p->eps_inside ? correction : hc_near_sqrt(HC_FP64, correction));
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
    bool kahan = call->in[6].data;
    if (call->op == HC_OP_adamw && !kahan)
        w = hc_near_mul(f, w, hc_near_into(f, rest(product(lr, p->weight_decay))));
    else if (call->op == HC_OP_adam && p->weight_decay != 0)
        g = hc_near_add(f, g, hc_near_mul(f, stored(f, p->weight_decay), w));
    m = hc_near_add(f, hc_near_mul(f, stored(f, beta1), m),
                    hc_near_mul(f, hc_near_into(f, rest(hc_near_exact(beta1))), g));
    struct hc_near square =
        hc_near_mul(f, hc_near_mul(f, hc_near_into(f, rest(hc_near_exact(p->beta2))), g), g);
    v = hc_near_add(f, hc_near_mul(f, stored(f, p->beta2), v), square);
    if (out == 1 || out == 2)
        return out == 1 ? m.error : v.error;
    struct hc_near step =
        hc_near_into(f, hc_near_div(HC_FP64, hc_near_exact(lr), rest(power(beta1, t))));
    struct hc_near d = denominator(p, v, rest(power(p->beta2, t)));
    struct hc_near u = hc_near_mul(f, step, hc_near_div(f, m, d));
    if (!kahan)
        return hc_near_sub(f, w, u).error;
    if (call->op == HC_OP_adamw)
        u = hc_near_add(f, u, hc_near_mul(f, hc_near_into(f, product(lr, p->weight_decay)), w));
    return compensated(call, f, out == 3, w, hc_near_element(&call->in[6], index), u);
}
