/* The derivatives of a right side, from its root to what it reads. */
#include <assert.h>
#include <string.h>

#include "define/gradient/term.h"

bool hc_expression_reads(const struct hc_definition *d, const struct hc_expression *e)
{
    assert(e);
    if (e->kind == HC_EXPRESSION_READ)
        return !d->tensor[e->tensor].index;
    for (int i = 0; i < e->operands; i++)
        if (hc_expression_reads(d, e->operand[i]))
            return true;
    return false;
}

/* Reads of numbers through which a gradient goes on. */
int hc_expression_reads_numbers(const struct hc_definition *d, const struct hc_expression *e)
{
    assert(e);
    int count =
        e->kind == HC_EXPRESSION_READ && !d->tensor[e->tensor].index && !d->tensor[e->tensor].shift;
    for (int i = 0; i < e->operands; i++)
        count += hc_expression_reads_numbers(d, e->operand[i]);
    return count;
}

static void go_times(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w,
                     double coefficient, const char *factor)
{
    w.term.coefficient *= coefficient;
    if (factor)
        hc_term_times(a, &w.term, factor);
    hc_adjoint_go(a, e, w);
}

/* 1 where p is above q, `otherwise` where it is below, and anything between at the kink. */
static const char *kink(struct hc_adjoint *a, const char *p, const char *q, const char *otherwise)
{
    return hc_text_of(a, "select(%s > %s, 1, select(%s < %s, %s, either(%s, 1)))", p, q, p, q,
                      otherwise, otherwise);
}

/* Whether a place of the expression may be absent: it reads a tensor that has `where`. */
static bool may_be_absent(const struct hc_definition *d, const struct hc_expression *e)
{
    assert(e);
    if (e->kind == HC_EXPRESSION_OVER)
        return false;
    if (e->kind == HC_EXPRESSION_READ) {
        const struct hc_defined_tensor *t = &d->tensor[e->tensor];
        /* A scan reads itself, and its elements are all there. */
        return !t->input && !t->shift && t->scan < 0 && (t->where || may_be_absent(d, t->value));
    }
    for (int i = 0; i < e->operands; i++)
        if (may_be_absent(d, e->operand[i]))
            return true;
    return false;
}

/* Whether the term is absent itself where an element that it has as a factor is. */
static bool stands_on_absent(const struct hc_adjoint *a, const struct hc_term *t)
{
    const struct hc_definition *d = a->definition;
    for (int k = d->inputs; k < d->tensors; k++) {
        const struct hc_defined_tensor *x = &d->tensor[k];
        if (x->shift || x->scan >= 0 || (!x->where && !may_be_absent(d, x->value)))
            continue;
        for (int i = 0; i < t->above + t->below; i++)
            if (hc_text_mentions(i < t->above ? t->numerator[i] : t->denominator[i - t->above],
                                 x->name))
                return true;
    }
    return false;
}

/* Functions of one number x: by what a term is multiplied and divided, and itself is the function's
   value. */
static const struct {
    enum hc_function function;
    double coefficient;
    const char *above;
    const char *below;
} slopes[] = {
    {HC_FN_negate, -1, NULL, NULL},
    {HC_FN_sqrt, 0.5, NULL, "itself"},
    {HC_FN_exp, 1, "itself", NULL},
    {HC_FN_log1p, 1, NULL, "(1 + x)"},
    {HC_FN_tanh, 1, "(1 - tanh(x) * tanh(x))", NULL},
    {HC_FN_sin, 1, "cos(x)", NULL},
    {HC_FN_cos, -1, "sin(x)", NULL},
    {HC_FN_erf, 2, "exp(-(x) * (x)) / sqrt(pi)", NULL},
};

/* Of 1 / (1 + exp(z)), a sigmoid s, the slope is s exp(z) / (1 + exp(z)), and s (1 - s) to many:
   what they take off from 1 has been rounded. Both are right, so that exp(z) may be 1 - s times 1 +
   exp(z), too. A quotient's slope has this twice below. */
static bool go_by_sigmoid(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w)
{
    if (e->function != HC_FN_exp)
        return false;
    const char *exponential = hc_adjoint_print(a, e);
    const char *below = hc_text_of(a, "(1 + %s)", exponential);
    int times = 0;
    for (int i = 0; i < w.term.below; i++)
        times += strcmp(w.term.denominator[i], below) == 0;
    if (times < 2)
        return false;
    go_times(a, e->operand[0], w, 1,
             hc_text_of(a, "either(%s, (1 - 1 / %s) * %s)", exponential, below, below));
    return true;
}

/* Whether the function is among them: the way goes on. */
static bool go_by_slope(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w)
{
    for (size_t i = 0; i < sizeof slopes / sizeof slopes[0]; i++) {
        if (slopes[i].function != e->function)
            continue;
        const char *at = hc_adjoint_print(a, e->operand[0]);
        const char *factor[2] = {slopes[i].above, slopes[i].below};
        for (int k = 0; k < 2; k++)
            if (factor[k])
                factor[k] = strcmp(factor[k], "itself") == 0
                                ? hc_adjoint_print(a, e)
                                : hc_text_renamed(a, factor[k], "x", at);
        if (factor[1])
            hc_term_over(a, &w.term, factor[1]);
        go_times(a, e->operand[0], w, slopes[i].coefficient, factor[0]);
        return true;
    }
    return false;
}

/* Where one of a sum's operands may be absent the sum is, too; the other one's gradient would have
   to know. It does where a factor of the term is absent there, or where it has none. */
static bool sum_is_whole(const struct hc_adjoint *a, const struct hc_expression *e,
                         const struct hc_way *w)
{
    const struct hc_definition *d = a->definition;
    for (int i = 0; i < 2; i++)
        if (hc_expression_reads_numbers(d, e->operand[i]) == 0)
            return true;
    return stands_on_absent(a, &w->term) ||
           (!may_be_absent(d, e->operand[0]) && !may_be_absent(d, e->operand[1]));
}

static void go_extreme(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w)
{
    /* min(x, y) is -max(-x, -y): the one that is less takes it. */
    int first = e->function == HC_FN_min;
    const char *p = hc_adjoint_inside(a, e->operand[first], 4);
    const char *q = hc_adjoint_inside(a, e->operand[1 - first], 4);
    go_times(a, e->operand[0], w, 1, kink(a, p, q, "0"));
    go_times(a, e->operand[1], w, 1, kink(a, q, p, "0"));
}

static void go_apply(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w)
{
    const struct hc_expression *x = e->operand[0];
    const struct hc_expression *y = e->operand[1];
    struct hc_way other = w;
    if (go_by_sigmoid(a, e, w) || go_by_slope(a, e, w))
        return;
    switch ((int)e->function) {
    case HC_FN_add:
    case HC_FN_sub:
        if (!sum_is_whole(a, e, &w)) {
            (void)hc_adjoint_fail(a, HC_UNSUPPORTED,
                                  "its gradient needs `where` on each equation with absent "
                                  "elements");
            return;
        }
        hc_adjoint_go(a, x, w);
        go_times(a, y, w, e->function == HC_FN_add ? 1 : -1, NULL);
        return;
    case HC_FN_mul:
        hc_term_factors(a, &w.term, y, false);
        hc_adjoint_go(a, x, w);
        hc_term_factors(a, &other.term, x, false);
        hc_adjoint_go(a, y, other);
        return;
    case HC_FN_div:
        hc_term_factors(a, &w.term, y, true);
        hc_adjoint_go(a, x, w);
        /* -(x / y) / y */
        hc_term_factors(a, &other.term, e, false);
        hc_term_factors(a, &other.term, y, true);
        go_times(a, y, other, -1, NULL);
        return;
    case HC_FN_log:
        hc_term_factors(a, &w.term, x, true);
        hc_adjoint_go(a, x, w);
        return;
    case HC_FN_abs:
        go_times(a, x, w, 1, kink(a, hc_adjoint_inside(a, x, 4), "0", "-1"));
        return;
    case HC_FN_min:
    case HC_FN_max:
        go_extreme(a, e, w);
        return;
    case HC_FN_select:
        hc_term_put(a, w.condition, &w.conditions, hc_adjoint_print(a, x));
        hc_term_put(a, other.condition, &other.conditions,
                    hc_text_of(a, "not (%s)", hc_adjoint_print(a, x)));
        hc_adjoint_go(a, y, w);
        hc_adjoint_go(a, e->operand[2], other);
        return;
    case HC_FN_floor:
        return;
    default:
        (void)hc_adjoint_fail(a, HC_UNSUPPORTED,
                              "its gradient needs a derivative that is not there");
    }
}

/* A reduction as an element: the equation's tensor, if it is its right side, or else one that gets
   an equation of its own, over those of the first `loops` axes that it depends on. */
static const char *as_element(struct hc_adjoint *a, const char *prefix, const char *of,
                              const struct hc_way *w, int loops)
{
    const char *places = "";
    for (int i = 0; i < loops; i++)
        if (hc_text_mentions(of, w->loop[i]) && !hc_text_binds(of, w->loop[i]))
            places = hc_text_of(a, "%s%s%s", places, *places ? "," : "", w->loop[i]);
    return hc_adjoint_line(a, prefix, places, of);
}

static const char *reduced(struct hc_adjoint *a, const struct hc_expression *e,
                           const struct hc_way *w, int loops)
{
    if (e == a->equation->value && !a->equation->where)
        return hc_adjoint_element(a, a->equation->name, a->equation);
    return as_element(a, hc_reduction_names[e->reduction], hc_adjoint_print(a, e), w, loops);
}

/* The largest, or the least, over one axis or several has the gradient alone. Where it stands more
   than once, each of them may have any share. */
static const char *extreme(struct hc_adjoint *a, const struct hc_way *w)
{
    const struct hc_expression *e = w->top;
    const char *element = reduced(a, e, w, w->loops_above);
    const char *axes = "";
    const char *conditions = "";
    for (; e->kind == HC_EXPRESSION_OVER && e->reduction == w->top->reduction; e = e->operand[0]) {
        axes = hc_text_of(a, "%s%s%s", axes, *axes ? ", " : "", a->definition->axis[e->axis].name);
        if (e->operands > 1)
            conditions = hc_text_of(a, "%s%s%s", conditions, *conditions ? " and " : " where ",
                                    hc_adjoint_inside(a, e->operand[1], 2));
    }
    const char *here = hc_text_of(a, "%s == %s", hc_adjoint_inside(a, e, 4), element);
    const char *count = hc_text_of(a, "count(%s: %s%s)", axes, here, conditions);
    const char *ties = as_element(a, "ties_", count, w, w->loops_above);
    return hc_text_of(a, "select(%s, select(%s > 1, either(0, 1), 1), 0)", here, ties);
}

static void go_over(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w)
{
    const char *axis = a->definition->axis[e->axis].name;
    const struct hc_expression *body = e->operand[0];
    bool extremes = e->reduction == HC_OVER_MAX || e->reduction == HC_OVER_MIN;
    if (w.loops == HC_MAX_LOOPS) {
        (void)hc_adjoint_fail(a, HC_UNSUPPORTED, "too many sums are nested for its gradient");
        return;
    }
    if (e->reduction == HC_OVER_MEAN && may_be_absent(a->definition, body)) {
        (void)hc_adjoint_fail(a, HC_UNSUPPORTED,
                              "its gradient needs the condition of a mean in the mean");
        return;
    }
    if (e->reduction == HC_OVER_MEAN) {
        struct hc_expression extent = {.kind = HC_EXPRESSION_EXTENT, .axis = e->axis};
        hc_term_over(a, &w.term,
                     e->operands > 1
                         ? hc_text_of(a, "count(%s: %s)", axis, hc_adjoint_print(a, e->operand[1]))
                         : hc_adjoint_print(a, &extent));
    } else if (e->reduction == HC_OVER_PROD) {
        /* At 0 it is the product of the others, of which nothing is said. */
        hc_term_times(a, &w.term,
                      hc_text_of(a, "select(%s == 0, either(-inf, inf), %s / %s)",
                                 hc_adjoint_inside(a, body, 4), reduced(a, e, &w, w.loops),
                                 hc_adjoint_inside(a, body, 6)));
    }
    if (extremes && !w.top) {
        w.top = e;
        w.loops_above = w.loops;
    }
    if (extremes && (body->kind != HC_EXPRESSION_OVER || body->reduction != e->reduction)) {
        hc_term_times(a, &w.term, extreme(a, &w));
        w.top = NULL;
    }
    if (e->operands > 1)
        hc_term_put(a, w.condition, &w.conditions, hc_adjoint_print(a, e->operand[1]));
    w.loop[w.loops++] = axis;
    hc_adjoint_go(a, body, w);
}

void hc_adjoint_go(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w)
{
    assert(e);
    if (a->failed || !hc_expression_reads(a->definition, e))
        return;
    switch (e->kind) {
    case HC_EXPRESSION_READ:
        hc_adjoint_arrive(a, e, &w);
        return;
    case HC_EXPRESSION_STORE:  /* a rounding lets the gradient through */
    case HC_EXPRESSION_EITHER: /* two forms of one number: the slope of the first */
        hc_adjoint_go(a, e->operand[0], w);
        return;
    case HC_EXPRESSION_OVER:
        go_over(a, e, w);
        return;
    case HC_EXPRESSION_APPLY:
        go_apply(a, e, w);
        return;
    default:
        return;
    }
}
