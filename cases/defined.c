#include "cases/defined.h"

#include <math.h>

#include "cases/unit.h"

/* One operation, rounded once into the format. */
static double once(enum hc_format format, enum hc_op op, double x, double y, double z)
{
    struct hc_scalar scalar = {.format = format};
    return hc_scalar_op(&scalar, op, x, y, z);
}

/* The same in the step's inner format (r), and then rounded into its arithmetic (R). */
static double inner(const struct hc_defined_step *s, enum hc_op op, double x, double y, double z)
{
    return once(s->inner, op, x, y, z);
}

static double full(const struct hc_defined_step *s, enum hc_op op, double x, double y, double z)
{
    return hc_round(s->f, inner(s, op, x, y, z));
}

static double mul(const struct hc_defined_step *s, double x, double y)
{
    return full(s, HC_OP_mul, x, y, 0);
}

static double add(const struct hc_defined_step *s, double x, double y)
{
    return full(s, HC_OP_add, x, y, 0);
}

static double sub(const struct hc_defined_step *s, double x, double y)
{
    return full(s, HC_OP_sub, x, y, 0);
}

static double quotient(const struct hc_defined_step *s, double x, double y)
{
    return full(s, HC_OP_div, x, y, 0);
}

static double root(const struct hc_defined_step *s, double x)
{
    return full(s, HC_OP_sqrt, x, 0, 0);
}

static double rounded(const struct hc_real *x, enum hc_format format)
{
    return hc_decode(format, hc_real_bits(x, format, HC_NEAREST));
}

/* 1 - beta^t */
static void corrected(struct hc_real *x, double beta, double t)
{
    struct hc_real *one = hc_real_new(1);
    hc_real_set(x, beta);
    hc_real_pow(x, x, (long)t);
    hc_real_sub(x, one, x);
    hc_real_free(one);
}

static void decays(struct hc_defined_step *s, double rate, double wd, enum hc_format f)
{
    struct hc_real *x = hc_real_new(rate);
    struct hc_real *y = hc_real_new(wd);
    hc_real_mul(x, x, y);
    s->decay = rounded(x, f);
    hc_real_set(y, 1);
    hc_real_sub(x, y, x);
    s->keep = rounded(x, f);
    s->wd = hc_round(f, wd);
    s->lr = hc_round(f, rate);
    hc_real_free(x);
    hc_real_free(y);
}

static void moments(struct hc_defined_step *s, const struct hc_adam *p, const double hyper[3],
                    enum hc_format f)
{
    double beta2 = p->order == HC_ORDER_APEX ? hc_round(HC_FP32, p->beta2) : p->beta2;
    struct hc_real *x = hc_real_new(0);
    struct hc_real *y = hc_real_new(hyper[0]);
    corrected(x, hyper[1], 1);
    s->rest1 = rounded(x, f);
    corrected(x, beta2, 1);
    s->rest2 = rounded(x, f);
    corrected(x, hyper[1], hyper[2]);
    s->first = rounded(x, f);
    hc_real_div(x, y, x);
    s->step = rounded(x, f);
    corrected(x, beta2, hyper[2]);
    s->second = rounded(x, f);
    hc_real_sqrt(x, x);
    s->root = rounded(x, f);
    s->beta2 = hc_round(f, beta2);
    s->eps = hc_round(f, p->eps);
    hc_real_free(x);
    hc_real_free(y);
}

struct hc_defined_step hc_defined_step(const struct hc_call *call)
{
    bool sgd = call->op == HC_OP_sgd;
    const struct hc_adam *p = &call->params.adam;
    struct hc_defined_step s = {.f = sgd ? call->params.sgd.arithmetic : p->arithmetic,
                                .inner = HC_FP32,
                                .adamw = call->op == HC_OP_adamw};
    double wd = sgd ? call->params.sgd.weight_decay : p->weight_decay;
    enum hc_format f = sgd || p->order == HC_ORDER_OURS ? s.f : HC_FP32;
    double hyper[3];
    for (int i = 0; i < 3; i++)
        hyper[i] = hc_tensor_get(&call->in[sgd ? 3 : 4], i);
    decays(&s, hyper[0], wd, f);
    s.beta1 = hc_round(f, hyper[1]);
    if (!sgd)
        moments(&s, p, hyper, f);
    s.coupled = wd != 0 && !(sgd ? call->params.sgd.decoupled : s.adamw);
    return s;
}

/* Takes u off the weight, or what it and its compensation hold. */
static void compensate(const struct hc_defined_step *s, enum hc_format stored, struct hc_defined *x,
                       double u)
{
    double y = sub(s, x->c, u);
    double w = hc_round(stored, add(s, x->w, y));
    x->c = sub(s, y, sub(s, w, x->w));
    x->w = w;
}

static void sgd(const struct hc_call *call, const struct hc_defined_step *s, struct hc_defined *x)
{
    const struct hc_sgd *p = &call->params.sgd;
    bool kahan = call->in[5].data;
    double w = p->decoupled && !kahan ? mul(s, x->w, s->keep) : x->w;
    double g = s->coupled ? add(s, x->g, mul(s, s->wd, w)) : x->g;
    double d = p->rate_inside ? mul(s, s->lr, g) : g;
    x->m = add(s, mul(s, s->beta1, x->m), d);
    double u = p->nesterov ? add(s, d, mul(s, s->beta1, x->m)) : x->m;
    u = p->rate_inside ? u : mul(s, s->lr, u);
    if (!kahan)
        x->w = sub(s, w, u);
    else
        compensate(s, call->in[0].format, x, p->decoupled ? add(s, u, mul(s, s->decay, x->w)) : u);
}

static void ours(const struct hc_call *call, const struct hc_defined_step *s, struct hc_defined *x)
{
    bool kahan = call->in[6].data;
    double w = s->adamw && !kahan ? mul(s, x->w, s->keep) : x->w;
    double g = s->coupled ? add(s, x->g, mul(s, s->wd, w)) : x->g;
    x->m = add(s, mul(s, s->beta1, x->m), mul(s, s->rest1, g));
    x->v = add(s, mul(s, s->beta2, x->v), mul(s, mul(s, s->rest2, g), g));
    double d = call->params.adam.eps_inside ? root(s, add(s, quotient(s, x->v, s->second), s->eps))
                                            : add(s, quotient(s, root(s, x->v), s->root), s->eps);
    double u = mul(s, s->step, quotient(s, x->m, d));
    if (!kahan)
        x->w = sub(s, w, u);
    else
        compensate(s, call->in[0].format, x, s->adamw ? add(s, u, mul(s, s->decay, x->w)) : u);
}

/* grad.add(param, alpha), lerp_, mul_, addcmul_, sqrt, div, add_, addcdiv_. */
static void torch(const struct hc_defined_step *s, struct hc_defined *x)
{
    double w = s->adamw ? mul(s, x->w, s->keep) : x->w;
    double g = s->coupled ? full(s, HC_OP_fma, s->wd, w, x->g) : x->g;
    double way = inner(s, HC_OP_sub, g, x->m, 0);
    if (s->rest1 < 0.5)
        x->m = full(s, HC_OP_fma, s->rest1, way, x->m);
    else
        x->m = full(s, HC_OP_fma, inner(s, HC_OP_sub, s->rest1, 1, 0), way, g);
    x->v = full(s, HC_OP_fma, inner(s, HC_OP_mul, s->rest2, g, 0), g, mul(s, s->beta2, x->v));
    double d = add(s, quotient(s, root(s, x->v), s->root), s->eps);
    double u = inner(s, HC_OP_div, inner(s, HC_OP_mul, -s->step, x->m, 0), d, 0);
    x->w = add(s, w, u);
}

static void apex(const struct hc_defined_step *s, struct hc_defined *x)
{
    double g = s->coupled ? add(s, x->g, mul(s, s->wd, x->w)) : x->g;
    x->m = add(s, mul(s, s->beta1, x->m), mul(s, s->rest1, g));
    x->v = add(s, mul(s, s->beta2, x->v), mul(s, mul(s, s->rest2, g), g));
    double d = add(s, root(s, quotient(s, x->v, s->second)), s->eps);
    double u = quotient(s, quotient(s, x->m, s->first), d);
    u = s->adamw ? add(s, u, mul(s, s->wd, x->w)) : u;
    x->w = sub(s, x->w, mul(s, s->lr, u));
}

void hc_defined_run(const struct hc_call *call, const struct hc_defined_step *s,
                    struct hc_defined *x)
{
    if (call->op == HC_OP_sgd)
        sgd(call, s, x);
    else if (call->params.adam.order == HC_ORDER_OURS)
        ours(call, s, x);
    else if (call->params.adam.order == HC_ORDER_APEX)
        apex(s, x);
    else
        torch(s, x);
}

static double element(const struct hc_tensor *t, int64_t i)
{
    return t->data ? hc_tensor_get(t, i) : 0;
}

static void claim(struct hc_check *check, const char *what, const struct hc_tensor *got, int64_t i,
                  double want)
{
    if (got->data)
        hc_claim_bits(check, what, got->format, hc_encode(got->format, want, 0, HC_NEAREST),
                      hc_tensor_bits(got, i));
}

void hc_claim_defined(struct hc_check *check, const char *what, const struct hc_call *call)
{
    bool sgd = call->op == HC_OP_sgd;
    struct hc_defined_step s = hc_defined_step(call);
    int64_t n = hc_tensor_count(&call->in[0]);
    struct hc_defined *want = hc_check_memory(check, (size_t)n * sizeof *want);
    for (int64_t i = 0; i < n; i++) {
        want[i] = (struct hc_defined){element(&call->in[0], i), element(&call->in[1], i),
                                      element(&call->in[2], i), sgd ? 0 : element(&call->in[3], i),
                                      element(&call->in[sgd ? 5 : 6], i)};
        hc_defined_run(call, &s, &want[i]);
    }
    if (hc_do(check, call) != HC_OK)
        return;
    for (int64_t i = 0; i < n; i++) {
        claim(check, what, &call->out[0], i, want[i].w);
        claim(check, what, &call->out[1], i, want[i].m);
        if (!sgd)
            claim(check, what, &call->out[2], i, want[i].v);
        claim(check, what, &call->out[sgd ? 2 : 3], i, want[i].c);
    }
}
