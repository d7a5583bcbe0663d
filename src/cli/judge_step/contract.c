#include "cli/judge_step/contract.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/bound/any_order.h"
#include "num/ulp.h"

/* The contract, as the metadata of a file say it. */

static enum hc_adam_order order_of(const struct hc_step *step)
{
    const char *name = hc_tensor_file_metadata(&step->file, "order");
    for (int i = 0; name && i < HC_ORDER_COUNT; i++)
        if (strcmp(hc_adam_order_names[i], name) == 0)
            return (enum hc_adam_order)i;
    return HC_ORDER_OURS;
}

/* The first key that the optimizer needs and the metadata lack, or NULL. */
static const char *lacking(const struct hc_step *step, enum hc_op op)
{
    static const struct {
        const char *key;
        bool adam_alone;
    } rows[] = {{"lr", false}, {"beta1", true}, {"beta2", true}, {"eps", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!(rows[i].adam_alone && op == HC_OP_sgd) &&
            !hc_tensor_file_metadata(&step->file, rows[i].key))
            return rows[i].key;
    bool needs = op == HC_OP_adamw && !hc_tensor_file_metadata(&step->file, "weight_decay");
    return needs ? "weight_decay" : NULL;
}

bool hc_step_contract_read(struct hc_step *step, struct hc_step_contract *c, char why[160])
{
    const char *name = hc_tensor_file_metadata(&step->file, "optimizer");
    const char *decay = hc_tensor_file_metadata(&step->file, "decay");
    const struct hc_recipe *recipe = hc_step_recipe(step);
    *c = (struct hc_step_contract){.op = name ? hc_op_by_name(name) : (enum hc_op)HC_OP_COUNT,
                                   .gradient_factor = 1,
                                   .gradient_format = HC_FORMAT_COUNT,
                                   .weight_format = HC_FORMAT_COUNT};
    (void)snprintf(why, 160, "the file does not say which optimizer it was, or how it decays");
    if (c->op != HC_OP_adamw && c->op != HC_OP_adam && c->op != HC_OP_sgd)
        return false;
    bool apart = decay ? strcmp(decay, "decoupled") == 0 : c->op == HC_OP_adamw;
    if (decay && strcmp(decay, "decoupled") != 0 && strcmp(decay, "l2") != 0)
        return false;
    const char *missing = lacking(step, c->op);
    (void)snprintf(why, 160, "its metadata do not say %s", missing ? missing : "");
    if (missing)
        return false;
    if (c->op != HC_OP_sgd)
        c->op = apart ? HC_OP_adamw : HC_OP_adam;
    c->decay = apart ? HC_STEP_DECAY_APART : HC_STEP_DECAY_COUPLED;
    c->lr = c->stated_lr = hc_step_number(step, "lr", 0);
    c->beta1 = hc_step_number(step, "beta1", 0);
    /* halfcheck's optimizers take both as fp32. */
    if (hc_step_is_own(step)) {
        c->lr = c->stated_lr = hc_round(HC_FP32, c->lr);
        c->beta1 = hc_round(HC_FP32, c->beta1);
    }
    c->weight_decay = c->stated_decay = hc_step_number(step, "weight_decay", 0);
    c->decay_norm = !hc_step_metadata_is(step, "decay_norm", "0");
    c->step = hc_step_scalar(step, "optimizer.step", 0) + 1;
    if (c->op == HC_OP_sgd) {
        c->nesterov = hc_step_metadata_is(step, "nesterov", "1");
        c->rate_inside = recipe && recipe->rate_inside;
        return true;
    }
    c->eps = hc_step_number(step, "eps", 0);
    c->eps_inside = hc_step_metadata_is(step, "eps_inside", "1");
    c->order = order_of(step);
    c->beta2 = hc_step_number(step, "beta2", 0);
    bool counted = hc_tensor_file_find(&step->file, "optimizer.step") != NULL;
    (void)snprintf(why, 160, "the file lacks optimizer.step, how many steps came before");
    if (!counted && step->plan.network == NULL &&
        hc_step_parameter(step, 0, "optimizer.exp_avg.").data)
        return false;
    (void)snprintf(why, 160, "optimizer.step is %g, which counts no steps", c->step - 1);
    return c->step >= 1 && c->step <= 0x1p24 && floor(c->step) == c->step;
}

static enum hc_format arithmetic(const struct hc_step *step, enum hc_format weight)
{
    const char *name = hc_tensor_file_metadata(&step->file, "arithmetic");
    enum hc_format f = name ? hc_format_by_name(name) : HC_FORMAT_COUNT;
    if (weight == HC_FP64 || weight == HC_FP32)
        return weight;
    return f == HC_FP16 || f == HC_BF16 ? f : HC_FP32;
}

/* State of the step before. Where the file has none there was none, and it begins as 0: PyTorch
   makes SGD's at the first step, and Adam's. */
static struct hc_tensor state_before(struct hc_step *step, const struct hc_step_contract *c, int p,
                                     const char *prefix)
{
    struct hc_tensor t = hc_step_parameter(step, p, prefix);
    bool first = c->op == HC_OP_sgd || c->step == 1;
    return t.data || !first || step->plan.network ? t : hc_step_zeros(step, p);
}

void hc_step_state_read(struct hc_step *step, const struct hc_step_contract *c, int p,
                        struct hc_step_state *state)
{
    const struct hc_recipe *recipe = hc_step_recipe(step);
    struct hc_tensor master = hc_step_parameter(step, p, "masters.");
    struct hc_tensor weight = hc_step_parameter(step, p, "weights.");
    bool sgd = c->op == HC_OP_sgd;
    *state = (struct hc_step_state){.w = master.data ? master : weight,
                                    .g = hc_step_gradient(step, p),
                                    .compensation =
                                        hc_step_parameter(step, p, "optimizer.compensation."),
                                    .master = master.data,
                                    .norm_or_bias = hc_step_is_norm_or_bias(step, p)};
    state->model = weight;
    if (!master.data)
        state->model.data = NULL;
    state->m = state_before(step, c, p, sgd ? "optimizer.momentum_buffer." : "optimizer.exp_avg.");
    state->after[HC_STEP_M] = hc_step_parameter(
        step, p, sgd ? "after.optimizer.momentum_buffer." : "after.optimizer.exp_avg.");
    if (!sgd) {
        state->v = state_before(step, c, p, "optimizer.exp_avg_sq.");
        state->after[HC_STEP_V] = hc_step_parameter(step, p, "after.optimizer.exp_avg_sq.");
    }
    state->after[HC_STEP_W] =
        hc_step_parameter(step, p, master.data ? "after.masters." : "after.weights.");
    state->work = arithmetic(step, state->w.format);
    /* Which neighbour a weight is rounded to depends on random bits: either is right. */
    state->stochastic = recipe && recipe->stochastic && state->w.format == HC_BF16;
    state->lr = hc_step_number_of(step, p, "lr", c->stated_lr);
    if (hc_step_is_own(step))
        state->lr = hc_round(HC_FP32, state->lr);
    state->weight_decay = hc_step_number_of(step, p, "weight_decay", c->stated_decay);
}

double hc_step_rate(const struct hc_step_contract *c, const struct hc_step_state *s)
{
    if (c->lr == c->stated_lr)
        return s->lr;
    return s->lr == c->stated_lr || c->stated_lr == 0 ? c->lr : s->lr * (c->lr / c->stated_lr);
}

double hc_step_decay_of(const struct hc_step_contract *c, const struct hc_step_state *s)
{
    double own = s->weight_decay;
    if (!c->decay_norm && s->norm_or_bias)
        return 0;
    if (c->weight_decay == c->stated_decay)
        return own;
    return own == c->stated_decay || c->stated_decay == 0
               ? c->weight_decay
               : own * (c->weight_decay / c->stated_decay);
}

/* One element. */

/* Its operands, and the coefficients of its parameter. */
struct element {
    const struct hc_step_contract *c;
    enum hc_format f;
    double lr;
    double decay;
    struct hc_ball g;
    double w;
    double m;
    double v;
};

/* A ball after one rounding into a format, which is monotone: between what its ends become. */
static struct hc_ball stored(enum hc_format f, struct hc_ball x)
{
    double low = hc_round(f, x.mid - x.rad);
    double high = hc_round(f, x.mid + x.rad);
    if (!isfinite(low) || !isfinite(high))
        return x;
    return hc_ball_of(low + (high - low) / 2, (high - low) / 2 * (1 + 0x1p-50));
}

/* The gradient as the optimizer takes it. A factor other than 1 is rounded, and so is the product:
   each is off by at most u / (1 + u) of itself, the two together by less than 2 u. A power of two
   costs nothing but the least number where the product is subnormal. */
static struct hc_ball gradient(const struct hc_step_contract *c, enum hc_format f, double g)
{
    int exponent;
    if (c->gradient_format != HC_FORMAT_COUNT)
        g = hc_round(c->gradient_format, g);
    struct hc_ball x = hc_ball_of(c->gradient_factor * g, 0);
    if (c->gradient_factor != 1)
        x.rad = hc_format_tiny(f);
    if (fabs(frexp(c->gradient_factor, &exponent)) != 0.5)
        x.rad += 2 * hc_format_unit(f) * fabs(x.mid);
    return x;
}

/* beta^t, as check/bound/optimizer.c has it, for 1 - beta^t. */
static struct hc_ball correction(double beta, double t)
{
    double value = pow(beta, t);
    struct hc_ball x = hc_ball_of(value, (t + 2) * 0x1p-53 * fabs(value) + t * 0x1p-1074);
    return hc_ball_one_minus(t == 1 ? hc_ball_exact(beta) : x);
}

static bool couples(const struct hc_step_contract *c)
{
    return c->decay == HC_STEP_DECAY_COUPLED || c->decay == HC_STEP_DECAY_BOTH;
}

/* The moments, as in check/bound/optimizer.c; a gradient with a radius moves them by what it is
   worth in them. */
static void moments(const struct element *e, struct hc_ball *m, struct hc_ball *v)
{
    double wd = couples(e->c) ? e->decay : 0;
    double beta2 = e->c->order == HC_ORDER_APEX ? (double)(float)e->c->beta2 : e->c->beta2;
    double most = fabs(e->g.mid) + (wd != 0 ? fabs(wd * e->w) : 0) + e->g.rad;
    double g = wd != 0 ? e->g.mid + wd * e->w : e->g.mid;
    int before = wd != 0 ? HC_ANY_GRADIENT : 0;
    *m = hc_any_moment(e->f, e->c->beta1, e->m, hc_ball_exact(g), most, before, 1);
    *v = hc_any_moment(e->f, beta2, e->v, hc_ball_mul(HC_REAL, hc_ball_exact(g), hc_ball_exact(g)),
                       most * most, 2 * before + 1, most);
    m->rad += fabs(1 - e->c->beta1) * e->g.rad;
    v->rad += fabs(1 - beta2) * (2 * fabs(g) + e->g.rad) * e->g.rad;
    if (!(most * most <= hc_format_max(e->f)))
        v->rad = (double)INFINITY;
}

static struct hc_ball adam_update(const struct element *e, struct hc_ball m, struct hc_ball v)
{
    const struct hc_step_contract *c = e->c;
    enum hc_format f = e->f;
    double beta2 = c->order == HC_ORDER_APEX ? (double)(float)c->beta2 : c->beta2;
    struct hc_ball one = hc_ball_exact(1);
    struct hc_ball first = c->uncorrected_m ? one : correction(c->beta1, c->step);
    struct hc_ball second = c->uncorrected_v ? one : correction(beta2, c->step);
    struct hc_ball eps = hc_ball_exact(c->eps);
    struct hc_ball d = hc_ball_div(HC_FP64, v, second);
    if (!(d.mid + d.rad <= hc_format_max(f)))
        d.rad = (double)INFINITY;
    if (c->eps_inside)
        d = hc_ball_sqrt(HC_FP64, hc_ball_add(HC_FP64, d, eps));
    else
        d = hc_ball_add(HC_FP64, hc_ball_sqrt(HC_FP64, d), eps);
    d = hc_ball_any_order(f, d, fabs(d.mid) + d.rad, 8, 1 / sqrt(second.mid));
    struct hc_ball step = hc_ball_div(HC_FP64, hc_ball_exact(e->lr), first);
    struct hc_ball q = hc_ball_div(HC_FP64, m, d);
    struct hc_ball u = hc_ball_mul(HC_FP64, step, q);
    double least = fabs(d.mid) - d.rad;
    double most = fabs(m.mid) + m.rad;
    double largest = fmax(fabs(q.mid) + q.rad, fabs(e->lr) / least);
    largest = fmax(largest, fmax(most, 1) / fabs(first.mid) + fabs(step.mid) / least);
    double after = fmax(fmax(1 / least, most), fabs(step.mid)) + fabs(step.mid) / least;
    u = hc_ball_any_order(f, u, fabs(u.mid) + u.rad, 8, after);
    if (!(largest <= hc_format_max(f)))
        u.rad = (double)INFINITY;
    return u;
}

/* The momentum, and what is taken off the weight; as in check/bound/optimizer.c. */
static void sgd(const struct element *e, struct hc_ball *momentum, struct hc_ball *update)
{
    const struct hc_step_contract *c = e->c;
    double beta = c->beta1;
    struct hc_polynomial w = hc_polynomial_of(hc_ball_exact(e->w));
    struct hc_polynomial d = hc_polynomial_of(e->g);
    struct hc_polynomial v = hc_polynomial_of(hc_ball_exact(e->m));
    if (couples(c) && e->decay != 0)
        d = hc_polynomial_sum(d, hc_polynomial_scaled(e->decay, w));
    if (c->rate_inside)
        d = hc_polynomial_scaled(e->lr, d);
    v = hc_polynomial_sum(hc_polynomial_scaled(beta, v),
                          c->dampening == 0 ? d : hc_polynomial_scaled(1 - c->dampening, d));
    double after = fmax(fmax(fabs(e->lr), fabs(beta)), 1);
    *momentum = hc_polynomial_ball(e->f, v, after);
    if (c->nesterov)
        v = hc_polynomial_sum(d, hc_polynomial_scaled(beta, v));
    *update = hc_polynomial_ball(e->f, c->rate_inside ? v : hc_polynomial_scaled(e->lr, v),
                                 after * after);
}

/* The new weight from the update, before it is stored. Where the decay comes after the update, it
   is (1 - lr wd) (w - u), of which hc_any_weight knows (1 - lr wd) w. In the rest, the rate, the
   decay and their product are three roundings of lr wd, 1 - lr wd is one of itself, and the product
   with u another. The fourth unit of each is more than all products of these errors. */
static struct hc_ball weight(const struct element *e, enum hc_format kept, struct hc_ball u)
{
    const struct hc_step_contract *c = e->c;
    bool apart = c->decay == HC_STEP_DECAY_APART || c->decay == HC_STEP_DECAY_BOTH;
    double decay = apart || c->decay == HC_STEP_DECAY_AFTER ? e->lr * e->decay : 0;
    struct hc_ball w = hc_ball_exact(e->w);
    if (c->decay == HC_STEP_DECAY_AFTER) {
        double most = fabs(u.mid) + u.rad;
        u.mid *= 1 - decay;
        u.rad = fabs(1 - decay) * u.rad + hc_format_tiny(e->f) +
                hc_format_unit(e->f) * 4 * (fabs(decay) + fabs(1 - decay)) * most;
    }
    if (c->decayed_format && apart) {
        w = stored(kept, hc_any_weight(e->f, w, decay, hc_ball_exact(0)));
        decay = 0;
    }
    w = hc_any_weight(e->f, w, decay, u);
    return c->weight_format != HC_FORMAT_COUNT ? stored(c->weight_format, w) : w;
}

static double get(const struct hc_tensor *t, int64_t i)
{
    return t->data ? hc_tensor_get(t, i) : 0;
}

void hc_step_contract_element(const struct hc_step_contract *c, const struct hc_step_state *s,
                              int64_t i, struct hc_ball out[HC_STEP_OUTPUTS])
{
    const struct hc_tensor *w = c->from_model && s->model.data ? &s->model : &s->w;
    struct element e = {.c = c,
                        .f = s->work,
                        .lr = hc_step_rate(c, s),
                        .decay = hc_step_decay_of(c, s),
                        .g = gradient(c, s->work, hc_tensor_get(&s->g, i)),
                        .w = hc_tensor_get(w, i),
                        .m = c->from_nothing ? 0 : get(&s->m, i),
                        .v = c->from_nothing ? 0 : get(&s->v, i)};
    struct hc_ball u;
    if (c->left_out) {
        out[HC_STEP_M] = hc_ball_exact(e.m);
        out[HC_STEP_V] = hc_ball_exact(e.v);
        out[HC_STEP_W] = hc_ball_exact(e.w);
        return;
    }
    out[HC_STEP_V] = hc_ball_exact(0);
    if (c->op == HC_OP_sgd) {
        sgd(&e, &out[HC_STEP_M], &u);
    } else {
        moments(&e, &out[HC_STEP_M], &out[HC_STEP_V]);
        u = adam_update(&e, out[HC_STEP_M], out[HC_STEP_V]);
    }
    out[HC_STEP_W] = weight(&e, s->w.format, u);
}

int hc_step_side(const struct hc_step_state *s, int out, int64_t i, struct hc_ball ball)
{
    const struct hc_tensor *t = &s->after[out];
    struct hc_exact want = {.hi = ball.mid};
    double got = hc_tensor_get(t, i);
    double most = fabs(ball.mid) + ball.rad;
    bool whole = ball.rad == 0 && hc_round(t->format, ball.mid) == ball.mid;
    if (isnan(ball.mid) && isnan(got))
        return 0;
    if (t->format != (s->work == HC_FP64 ? HC_FP64 : HC_FP32) && !whole)
        ball.rad += s->stochastic && out == HC_STEP_W ? hc_ulp(t->format, most)
                                                      : hc_half_ulp(t->format, most);
    if (isfinite(ball.rad) && hc_bound_error(t->format, &want, got) <= ball.rad)
        return 0;
    return got < ball.mid ? -1 : 1;
}
