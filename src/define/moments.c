/* Means and variances in a definition: m = mean(d: x) and v = mean(d: (x - m)^2), which are one
   computation to Welford's formulas. */
#include <string.h>

#include "define/reader.h"

static bool same_text(const struct hc_expression *a, const struct hc_expression *b)
{
    return a->length == b->length && strncmp(a->at, b->at, (size_t)a->length) == 0;
}

/* What a mean is of, if the expression is one without a condition; or NULL. `axes` gets a bit for
   each axis. */
static const struct hc_expression *mean_of(const struct hc_expression *e, uint64_t *axes)
{
    *axes = 0;
    if (e->mean)
        e = e->operand[0];
    else if (e->kind != HC_EXPRESSION_OVER || e->reduction != HC_OVER_MEAN)
        return NULL;
    for (; e->kind == HC_EXPRESSION_OVER && e->operands == 1; e = e->operand[0])
        *axes |= UINT64_C(1) << e->axis;
    return e;
}

/* Marks the sums of a mean. */
static void mark_moment(struct hc_definition *d, const struct hc_expression *e)
{
    d->expression[e->id]->moment = true;
    if (e->mean)
        e = e->operand[0];
    for (; e->kind == HC_EXPRESSION_OVER; e = e->operand[0])
        d->expression[e->id]->moment = true;
}

void hc_definition_find_moments(struct hc_definition *d)
{
    for (int i = d->inputs; i < d->tensors; i++) {
        uint64_t axes;
        uint64_t same_axes;
        const struct hc_expression *v = d->tensor[i].value;
        const struct hc_expression *square = mean_of(v, &axes);
        if (!square || square->kind != HC_EXPRESSION_APPLY || square->function != HC_FN_mul)
            continue;
        const struct hc_expression *away = square->operand[0];
        if (!same_text(away, square->operand[1]) || away->kind != HC_EXPRESSION_APPLY ||
            away->function != HC_FN_sub || away->operand[1]->kind != HC_EXPRESSION_READ)
            continue;
        const struct hc_expression *m = d->tensor[away->operand[1]->tensor].value;
        const struct hc_expression *x = m ? mean_of(m, &same_axes) : NULL;
        if (!x || axes != same_axes || !same_text(x, away->operand[0]))
            continue;
        mark_moment(d, m);
        mark_moment(d, v);
        d->expression[v->id]->variance = true;
    }
}
