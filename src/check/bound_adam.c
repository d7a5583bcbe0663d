/* Adam and AdamW: the orders of roundings that kernels/adam.h states, in running error analysis
   (near.h), coefficients in fp64 before that. Where an order fuses a product into a sum the product
   counts as one of fp64: that is more than the nothing which fma rounds it by, and less than a
   thousandth of the rounding after it. */
#include <math.h>

#include "check/bound_rules.h"

/* A step's operands, and the format into which its order rounds. */
struct step {
    const struct hc_adam *p;
    enum hc_format f;
    bool decoupled; /* adamw */
    bool kahan;
    double lr;
    double beta1;
    double beta2;
    struct hc_near first;  /* 1 - beta1^t */
    struct hc_near second; /* 1 - beta2^t */
    struct hc_near w;
    struct hc_near g;
    struct hc_near m;
    struct hc_near v;
};

static struct hc_near product(double x, double y)
{
    return hc_near_mul(HC_FP64, hc_near_exact(x), hc_near_exact(y));
}

static struct hc_near rest(struct hc_near x)
{
    return hc_near_sub(HC_FP64, hc_near_exact(1), x);
}

/* x y + z, rounded once. Below the normal numbers sums are exact only of numbers of fp32, which a product is
   not: there is half of the least number to add. */
static struct hc_near fused(enum hc_format f, struct hc_near x, struct hc_near y, struct hc_near z)
{
    struct hc_near sum = hc_near_add(f, hc_near_mul(HC_FP64, x, y), z);
    sum.error += f == HC_FP64 ? 0x1p-1074 : 0x1p-150;
    return sum;
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

static struct hc_near keep(const struct step *s)
{
    return rest(product(s->lr, s->p->weight_decay));
}

static struct hc_near moment(enum hc_format f, double beta, struct hc_near old, struct hc_near term)
{
    return hc_near_add(f, hc_near_mul(f, hc_near_into(f, hc_near_exact(beta)), old), term);
}

/* (1 - beta2) g^2, from the left. */
static struct hc_near square(enum hc_format f, const struct step *s)
{
    struct hc_near share = hc_near_into(f, rest(hc_near_exact(s->beta2)));
    return hc_near_mul(f, hc_near_mul(f, share, s->g), s->g);
}

/* Our own and apex's moments, of which none is fused. */
static void moments(struct step *s)
{
    enum hc_format f = s->f;
    struct hc_near wd = hc_near_into(f, hc_near_exact(s->p->weight_decay));
    if (!s->decoupled && s->p->weight_decay != 0)
        s->g = hc_near_add(f, s->g, hc_near_mul(f, wd, s->w));
    struct hc_near share = hc_near_into(f, rest(hc_near_exact(s->beta1)));
    s->m = moment(f, s->beta1, s->m, hc_near_mul(f, share, s->g));
    s->v = moment(f, s->beta2, s->v, square(f, s));
}

/* What is taken off the weight. */
static struct hc_near update_ours(struct step *s)
{
    enum hc_format f = s->f;
    if (s->decoupled && !s->kahan)
        s->w = hc_near_mul(f, s->w, hc_near_into(f, keep(s)));
    moments(s);
    struct hc_near eps = hc_near_into(f, hc_near_exact(s->p->eps));
    struct hc_near by = s->p->eps_inside ? s->second : hc_near_sqrt(HC_FP64, s->second);
    by = hc_near_into(f, by);
    struct hc_near d = s->p->eps_inside
                           ? hc_near_sqrt(f, hc_near_add(f, hc_near_div(f, s->v, by), eps))
                           : hc_near_add(f, hc_near_div(f, hc_near_sqrt(f, s->v), by), eps);
    struct hc_near step = hc_near_into(f, hc_near_div(HC_FP64, hc_near_exact(s->lr), s->first));
    struct hc_near u = hc_near_mul(f, step, hc_near_div(f, s->m, d));
    if (s->kahan && s->decoupled)
        u = hc_near_add(f, u,
                        hc_near_mul(f, hc_near_into(f, product(s->lr, s->p->weight_decay)), s->w));
    return u;
}

/* Whatever runs within a compound operation is fp32 (fp64: fp64); its end is rounded into f. */
static struct hc_near update_torch(struct step *s)
{
    enum hc_format f = s->f;
    enum hc_format c = f == HC_FP64 ? HC_FP64 : HC_FP32;
    struct hc_near wd = hc_near_into(c, hc_near_exact(s->p->weight_decay));
    if (s->decoupled)
        s->w = hc_near_mul(f, s->w, hc_near_into(c, keep(s)));
    else if (s->p->weight_decay != 0)
        s->g = fused(f, wd, s->w, s->g);
    struct hc_near share = hc_near_into(c, rest(hc_near_exact(s->beta1)));
    struct hc_near way = hc_near_sub(c, s->g, s->m);
    s->m = share.value < 0.5 ? fused(f, share, way, s->m)
                             : fused(f, hc_near_sub(c, share, hc_near_exact(1)), way, s->g);
    struct hc_near left = hc_near_mul(c, hc_near_into(c, rest(hc_near_exact(s->beta2))), s->g);
    struct hc_near beta2 = hc_near_into(c, hc_near_exact(s->beta2));
    s->v = fused(f, left, s->g, hc_near_mul(f, beta2, s->v));
    struct hc_near by = hc_near_into(c, hc_near_sqrt(HC_FP64, s->second));
    struct hc_near d = hc_near_add(f, hc_near_div(f, hc_near_sqrt(f, s->v), by),
                                   hc_near_into(c, hc_near_exact(s->p->eps)));
    struct hc_near step = hc_near_into(c, hc_near_div(HC_FP64, hc_near_exact(s->lr), s->first));
    return hc_near_div(c, hc_near_mul(c, step, s->m), d);
}

static struct hc_near update_apex(struct step *s)
{
    enum hc_format f = s->f;
    moments(s);
    struct hc_near d = hc_near_sqrt(f, hc_near_div(f, s->v, hc_near_into(f, s->second)));
    d = hc_near_add(f, d, hc_near_into(f, hc_near_exact(s->p->eps)));
    struct hc_near u = hc_near_div(f, hc_near_div(f, s->m, hc_near_into(f, s->first)), d);
    struct hc_near wd = hc_near_into(f, hc_near_exact(s->p->weight_decay));
    if (s->decoupled)
        u = hc_near_add(f, u, hc_near_mul(f, wd, s->w));
    return hc_near_mul(f, hc_near_into(f, hc_near_exact(s->lr)), u);
}

static struct step step_of(const struct hc_call *call, int64_t index)
{
    const struct hc_adam *p = &call->params.adam;
    struct step s = {.p = p,
                     .f = p->arithmetic,
                     .decoupled = call->op == HC_OP_adamw,
                     .kahan = call->in[6].data,
                     .lr = hc_tensor_get(&call->in[4], 0),
                     .beta1 = hc_tensor_get(&call->in[4], 1),
                     .beta2 = p->order == HC_ORDER_APEX ? (double)(float)p->beta2 : p->beta2};
    double t = hc_tensor_get(&call->in[4], 2);
    s.first = rest(power(s.beta1, t));
    s.second = rest(power(s.beta2, t));
    s.w = hc_near_element(&call->in[0], index);
    s.g = hc_near_element(&call->in[1], index);
    s.m = hc_near_element(&call->in[2], index);
    s.v = hc_near_element(&call->in[3], index);
    return s;
}

double hc_bound_adam(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
                     int64_t index, const struct hc_want *want)
{
    static struct hc_near (*const updates[])(struct step *
                                             s) = {[HC_ORDER_OURS] = update_ours,
                                                   [HC_ORDER_TORCH_FUSED] = update_torch,
                                                   [HC_ORDER_TORCH_LOOP] = update_torch,
                                                   [HC_ORDER_APEX] = update_apex};
    (void)accumulator;
    (void)want;
    const struct hc_tensor *found = &call->in[5];
    if (found->data && hc_tensor_get(found, 0) != 0)
        return 0;
    struct step s = step_of(call, index);
    struct hc_near u = updates[s.p->order](&s);
    if (out == 1 || out == 2)
        return out == 1 ? s.m.error : s.v.error;
    if (!s.kahan)
        return hc_near_sub(s.f, s.w, u).error;
    return hc_bound_compensated(call, s.f, out == 3, s.w, hc_near_element(&call->in[6], index), u);
}
