/* The optimizers, in running error analysis (ball.h). The orders of roundings are those that
   kernels/element/adam.h states; coefficients are computed in fp64 before they are rounded. Where
   an order fuses a product into a sum, the product is not rounded. */
#include <math.h>

#include "check/bound/any_order.h"
#include "check/bound/rules.h"

/* A step's operands, and the format into which its order rounds. */
struct step {
    const struct hc_adam *p;
    enum hc_format f;
    bool decoupled; /* adamw */
    bool kahan;
    double lr;
    double beta1;
    double beta2;
    struct hc_ball first;  /* 1 - beta1^t */
    struct hc_ball second; /* 1 - beta2^t */
    struct hc_ball w;
    struct hc_ball g;
    struct hc_ball m;
    struct hc_ball v;
};

/* x y + z, rounded once. Below the normal numbers only sums of fp32 numbers are exact, and a
   product is not one: half of the smallest number is added. */
static struct hc_ball fused(enum hc_format f, struct hc_ball x, struct hc_ball y, struct hc_ball z)
{
    struct hc_ball sum = hc_ball_add(f, hc_ball_mul(HC_REAL, x, y), z);
    sum.rad += f == HC_FP64 ? 0x1p-1074 : 0x1p-150;
    return sum;
}

/* beta^t, 0 <= beta < 1, as a tree of products: t - 1 roundings, so that it is off by at most
   gamma(t - 1) <= t u of it in u = 2^-53 for t up to 2^24 (kernels/element/beta_power.h), and by
   half the least number for each that underflows. `mid` is the C library's, within an ulp, 2 u. */
static struct hc_ball power(double beta, double t)
{
    double value = pow(beta, t);
    if (t == 1)
        return hc_ball_exact(beta);
    return hc_ball_of(value, (t + 2) * 0x1p-53 * value + t * 0x1p-1074);
}

static struct hc_ball keep(const struct step *s)
{
    return hc_ball_one_minus(hc_ball_product(s->lr, s->p->weight_decay));
}

static struct hc_ball moment(enum hc_format f, double beta, struct hc_ball old, struct hc_ball term)
{
    return hc_ball_add(f, hc_ball_mul(f, hc_ball_stored(f, beta), old), term);
}

/* (1 - beta2) g^2, from the left. */
static struct hc_ball square(enum hc_format f, const struct step *s)
{
    struct hc_ball share = hc_ball_into(f, hc_ball_one_minus(hc_ball_exact(s->beta2)));
    return hc_ball_mul(f, hc_ball_mul(f, share, s->g), s->g);
}

/* The moments of our own order and of apex's, which fuse nothing. */
static void moments(struct step *s)
{
    enum hc_format f = s->f;
    struct hc_ball wd = hc_ball_stored(f, s->p->weight_decay);
    if (!s->decoupled && s->p->weight_decay != 0)
        s->g = hc_ball_add(f, s->g, hc_ball_mul(f, wd, s->w));
    struct hc_ball share = hc_ball_into(f, hc_ball_one_minus(hc_ball_exact(s->beta1)));
    s->m = moment(f, s->beta1, s->m, hc_ball_mul(f, share, s->g));
    s->v = moment(f, s->beta2, s->v, square(f, s));
}

/* What is taken off the weight, given the new moments. */
static struct hc_ball update_ours(struct step *s)
{
    enum hc_format f = s->f;
    if (s->decoupled && !s->kahan)
        s->w = hc_ball_mul(f, s->w, hc_ball_into(f, keep(s)));
    struct hc_ball eps = hc_ball_stored(f, s->p->eps);
    struct hc_ball by = s->p->eps_inside ? s->second : hc_ball_sqrt(HC_FP64, s->second);
    by = hc_ball_into(f, by);
    struct hc_ball d = s->p->eps_inside
                           ? hc_ball_sqrt(f, hc_ball_add(f, hc_ball_div(f, s->v, by), eps))
                           : hc_ball_add(f, hc_ball_div(f, hc_ball_sqrt(f, s->v), by), eps);
    struct hc_ball step = hc_ball_into(f, hc_ball_div(HC_FP64, hc_ball_exact(s->lr), s->first));
    struct hc_ball u = hc_ball_mul(f, step, hc_ball_div(f, s->m, d));
    if (s->kahan && s->decoupled)
        u = hc_ball_add(
            f, u,
            hc_ball_mul(f, hc_ball_into(f, hc_ball_product(s->lr, s->p->weight_decay)), s->w));
    return u;
}

/* PyTorch computes within a compound operation in fp32 (or fp64), and rounds its end into f. */
static enum hc_format compound(enum hc_format f)
{
    return f == HC_FP64 ? HC_FP64 : HC_FP32;
}

static void moments_torch(struct step *s)
{
    enum hc_format f = s->f;
    enum hc_format c = compound(f);
    if (!s->decoupled && s->p->weight_decay != 0)
        s->g = fused(f, hc_ball_stored(c, s->p->weight_decay), s->w, s->g);
    struct hc_ball share = hc_ball_into(c, hc_ball_one_minus(hc_ball_exact(s->beta1)));
    struct hc_ball way = hc_ball_sub(c, s->g, s->m);
    s->m = share.mid < 0.5 ? fused(f, share, way, s->m)
                           : fused(f, hc_ball_sub(c, share, hc_ball_exact(1)), way, s->g);
    struct hc_ball left =
        hc_ball_mul(c, hc_ball_into(c, hc_ball_one_minus(hc_ball_exact(s->beta2))), s->g);
    struct hc_ball beta2 = hc_ball_stored(c, s->beta2);
    s->v = fused(f, left, s->g, hc_ball_mul(f, beta2, s->v));
}

static struct hc_ball update_torch(struct step *s)
{
    enum hc_format f = s->f;
    enum hc_format c = compound(f);
    if (s->decoupled)
        s->w = hc_ball_mul(f, s->w, hc_ball_into(c, keep(s)));
    struct hc_ball by = hc_ball_into(c, hc_ball_sqrt(HC_FP64, s->second));
    struct hc_ball d =
        hc_ball_add(f, hc_ball_div(f, hc_ball_sqrt(f, s->v), by), hc_ball_stored(c, s->p->eps));
    struct hc_ball step = hc_ball_into(c, hc_ball_div(HC_FP64, hc_ball_exact(s->lr), s->first));
    return hc_ball_div(c, hc_ball_mul(c, step, s->m), d);
}

static struct hc_ball update_apex(struct step *s)
{
    enum hc_format f = s->f;
    struct hc_ball d = hc_ball_sqrt(f, hc_ball_div(f, s->v, hc_ball_into(f, s->second)));
    d = hc_ball_add(f, d, hc_ball_stored(f, s->p->eps));
    struct hc_ball u = hc_ball_div(f, hc_ball_div(f, s->m, hc_ball_into(f, s->first)), d);
    struct hc_ball wd = hc_ball_stored(f, s->p->weight_decay);
    if (s->decoupled)
        u = hc_ball_add(f, u, hc_ball_mul(f, wd, s->w));
    return hc_ball_mul(f, hc_ball_stored(f, s->lr), u);
}

static struct step step_of(const struct hc_element *e)
{
    const struct hc_call *call = e->call;
    const struct hc_adam *p = &call->params.adam;
    const struct hc_tensor *hyper = &call->in[HC_ADAM_HYPER];
    struct step s = {.p = p,
                     .f = p->arithmetic,
                     .decoupled = call->op == HC_OP_adamw,
                     .kahan = call->in[HC_ADAM_COMPENSATION].data,
                     .lr = hc_tensor_get(hyper, HC_HYPER_LR),
                     .beta1 = hc_tensor_get(hyper, HC_HYPER_BETA1),
                     .beta2 = p->order == HC_ORDER_APEX ? (double)(float)p->beta2 : p->beta2};
    s.w = hc_ball_element(&call->in[HC_ADAM_W], e->index);
    s.g = hc_ball_element(&call->in[HC_ADAM_G], e->index);
    s.m = hc_ball_element(&call->in[HC_ADAM_M], e->index);
    s.v = hc_ball_element(&call->in[HC_ADAM_V], e->index);
    return s;
}

/* What an update divides the moments by, which the moments themselves do not need. */
static void correct(struct step *s, const struct hc_call *call)
{
    double t = hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_STEP);
    s->first = hc_ball_one_minus(power(s->beta1, t));
    s->second = hc_ball_one_minus(power(s->beta2, t));
}

double hc_bound_adam(const struct hc_element *e, const struct hc_accumulator *accumulator,
                     const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    static const struct {
        void (*moments)(struct step *s);
        struct hc_ball (*update)(struct step *s);
    } orders[] = {[HC_ORDER_OURS] = {moments, update_ours},
                  [HC_ORDER_TORCH_FUSED] = {moments_torch, update_torch},
                  [HC_ORDER_TORCH_LOOP] = {moments_torch, update_torch},
                  [HC_ORDER_APEX] = {moments, update_apex}};
    (void)accumulator;
    (void)want;
    if (hc_bound_skipped(call))
        return 0;
    struct step s = step_of(e);
    orders[s.p->order].moments(&s);
    if (e->out == HC_ADAM_NEW_M || e->out == HC_ADAM_NEW_V)
        return e->out == HC_ADAM_NEW_M ? s.m.rad : s.v.rad;
    correct(&s, call);
    struct hc_ball u = orders[s.p->order].update(&s);
    if (!s.kahan)
        return hc_ball_sub(s.f, s.w, u).rad;
    struct hc_ball c = hc_ball_element(&call->in[HC_ADAM_COMPENSATION], e->index);
    return hc_bound_compensated(e, s.f, e->out == HC_ADAM_NEW_COMPENSATION, s.w, c, u);
}

/* Any order: the moments are polynomials, of which the second has the square of the gradient. */
static void any_moments(struct step *s)
{
    enum hc_format f = s->f;
    double wd = s->decoupled ? 0 : s->p->weight_decay;
    double most = fabs(s->g.mid) + (wd != 0 ? fabs(wd * s->w.mid) : 0);
    struct hc_ball g = s->g;
    if (wd != 0)
        g = hc_ball_add(HC_REAL, g, hc_ball_mul(HC_REAL, hc_ball_exact(wd), s->w));
    int before = wd != 0 ? HC_ANY_GRADIENT : 0;
    struct hc_ball square = hc_ball_mul(HC_REAL, g, g);
    s->m = hc_any_moment(f, s->beta1, s->m.mid, g, most, before, 1);
    double old = fabs(s->v.mid);
    s->v = hc_any_moment(f, s->beta2, s->v.mid, square, most * most, 2 * before + 1, most);
    if (f != HC_FP64) /* beta2 may be taken as it was given */
        s->v.rad += fabs(s->p->beta2 - s->beta2) * (old + most * most);
    if (!(most * most <= hc_format_max(f)))
        s->v.rad = (double)INFINITY;
}

/* sqrt(v / second) + eps, or sqrt(v / second + eps). All terms are positive, so each rounding is
   relative to the result: those of the two coefficients, of a root, and of at most five products,
   quotients and sums, where eps is first multiplied by sqrt(second), say. */
static struct hc_ball any_denominator(const struct step *s)
{
    struct hc_ball eps = hc_ball_exact(s->p->eps);
    struct hc_ball d = hc_ball_div(HC_REAL, s->v, s->second);
    if (!(d.mid + d.rad <= hc_format_max(s->f)))
        d.rad = (double)INFINITY;
    if (s->p->eps_inside)
        d = hc_ball_sqrt(HC_REAL, hc_ball_add(HC_REAL, d, eps));
    else
        d = hc_ball_add(HC_REAL, hc_ball_sqrt(HC_REAL, d), eps);
    return hc_ball_any_order(s->f, d, fabs(d.mid) + d.rad, 8, 1 / sqrt(s->second.mid));
}

/* lr / first m / d: lr may meet m, first or d first, and so may each of the others. What underflows
   or overflows on the way depends on that. */
static struct hc_ball any_update(const struct step *s)
{
    enum hc_format f = s->f;
    struct hc_ball d = any_denominator(s);
    struct hc_ball step = hc_ball_div(HC_REAL, hc_ball_exact(s->lr), s->first);
    struct hc_ball q = hc_ball_div(HC_REAL, s->m, d);
    struct hc_ball u = hc_ball_mul(HC_REAL, step, q);
    double least = fabs(d.mid) - d.rad;
    double m = fabs(s->m.mid) + s->m.rad;
    double largest = fmax(fabs(q.mid) + q.rad, fabs(s->lr) / least);
    largest = fmax(largest, fmax(m, 1) / fabs(s->first.mid) + fabs(step.mid) / least);
    double after = fmax(fmax(1 / least, m), fabs(step.mid)) + fabs(step.mid) / least;
    u = hc_ball_any_order(f, u, fabs(u.mid) + u.rad, 8, after);
    if (!(largest <= hc_format_max(f)))
        u.rad = (double)INFINITY;
    return u;
}

double hc_bound_any_adam(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    (void)accumulator;
    (void)want;
    if (hc_bound_skipped(e->call))
        return 0;
    struct step s = step_of(e);
    double decay = s.decoupled ? s.lr * s.p->weight_decay : 0;
    any_moments(&s);
    if (e->out == HC_ADAM_NEW_M || e->out == HC_ADAM_NEW_V)
        return e->out == HC_ADAM_NEW_M ? s.m.rad : s.v.rad;
    correct(&s, e->call);
    struct hc_ball u = any_update(&s);
    if (!s.kahan)
        return hc_any_weight(s.f, s.w, decay, u).rad;
    return hc_any_compensated(e, s.f, e->out == HC_ADAM_NEW_COMPENSATION,
                              &e->call->in[HC_ADAM_COMPENSATION], decay, u);
}

/* SGD, and compensated weights, in running error analysis (ball.h). The orders of roundings are
   those that kernels/element/sgd.h and kernels/element/kahan.h state: every intermediate result is
   rounded into `arithmetic`, and coefficients are computed in fp64 before that. */

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
        return hc_any_weight(p->arithmetic, w.value, decay, u).rad;
    return hc_any_compensated(e, p->arithmetic, e->out == HC_SGD_NEW_COMPENSATION,
                              &call->in[HC_SGD_COMPENSATION], decay, u);
}
