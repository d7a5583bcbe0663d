/* Integers and truths of an element: what is exact, and what roundings may turn around. */
#include <math.h>

#include "define/evaluator.h"

/* Integers and truths of integers, which are exact. False: the expression has no value here. */

/* Reads an index tensor; the place beside it is 0, as every number there. */
static bool read_index(struct hc_evaluator *v, const struct hc_expression *e, int64_t *value)
{
    const struct hc_tensor *t = &v->instance->input[e->tensor];
    int64_t index = 0;
    *value = 0;
    for (int i = 0; i < e->operands; i++) {
        int64_t at;
        if (!hc_evaluator_integer(v, e->operand[i], &at))
            return false;
        if (at < 0 || at >= t->shape[i])
            return true;
        index = index * t->shape[i] + at;
    }
    *value = (int64_t)hc_tensor_get(t, index);
    return true;
}

/* The place of the largest number, the first of equal ones; -1 where none is there. It is doubtful
   if another one may be the largest to an implementation. */
static bool argmax(struct hc_evaluator *v, const struct hc_expression *e, int64_t *place)
{
    int64_t outside = v->place[e->axis];
    struct hc_enclosure best = {.real = NULL};
    bool sure;
    *place = -1;
    for (int look = 0; look < 2; look++)
        for (int64_t i = 0; i < v->instance->extent[e->axis] && v->status == HC_OK; i++) {
            v->place[e->axis] = i;
            if (++v->operations > HC_MAX_OPERATIONS)
                hc_evaluator_fail(v, "one element takes more than 2^28 operations");
            enum hc_truth there =
                e->operands > 1 ? hc_evaluator_truth(v, e->operand[1]) : HC_IS_TRUE;
            v->doubtful = v->doubtful || hc_truth_unsure(there);
            const struct hc_enclosure *x =
                hc_truth_really(there) ? hc_evaluator_real(v, e->operand[0]) : NULL;
            if (!x || x->absent || i == (look ? *place : -1)) {
                v->doubtful = v->doubtful || (x && x->absent && isinf(x->rad));
                continue;
            }
            const struct hc_enclosure *of[2] = {x, &best};
            bool larger = *place < 0 || hc_enclosure_compare(HC_FN_greater, of, &sure);
            /* The second look compares all others with the largest. */
            if (look)
                v->doubtful = v->doubtful || larger || !sure ||
                              !hc_enclosure_compare(HC_FN_less, of, &sure) || !sure;
            else if (larger) {
                hc_enclosure_copy(&v->arithmetic, &best, x);
                *place = i;
            }
        }
    v->place[e->axis] = outside;
    hc_enclosure_free(&best);
    v->doubtful = v->doubtful || *place < 0;
    return v->status == HC_OK;
}

static bool integer_here(void *context, const struct hc_expression *e, int64_t *value)
{
    struct hc_evaluator *v = context;
    if (e->kind == HC_EXPRESSION_READ)
        return read_index(v, e, value);
    if (e->kind == HC_EXPRESSION_OVER)
        return argmax(v, e, value);
    enum hc_truth c = hc_evaluator_truth(v, e->operand[0]);
    return c <= HC_IS_TRUE && hc_evaluator_integer(v, e->operand[c == HC_IS_TRUE ? 1 : 2], value);
}

bool hc_evaluator_integer(struct hc_evaluator *v, const struct hc_expression *e, int64_t *value)
{
    if (e->kind == HC_EXPRESSION_AXIS) { /* as nearly all are */
        *value = v->place[e->axis];
        return true;
    }
    struct hc_integers integers = {v->instance, v->place, integer_here, v, NULL};
    return hc_integer_value(&integers, e, value) ||
           (integers.wrong && hc_evaluator_fail(v, integers.wrong));
}

static enum hc_truth truth_of(bool b)
{
    return b ? HC_IS_TRUE : HC_IS_FALSE;
}

static enum hc_truth maybe(bool sure, bool unordered, bool real)
{
    if (sure)
        return truth_of(real);
    if (unordered)
        return real ? HC_UNORDERED_TRUE : HC_UNORDERED_FALSE;
    return real ? HC_MAYBE_TRUE : HC_MAYBE_FALSE;
}

static enum hc_truth compare(struct hc_evaluator *v, const struct hc_expression *e)
{
    if (e->exact) {
        int64_t a;
        int64_t b;
        if (!hc_evaluator_integer(v, e->operand[0], &a) ||
            !hc_evaluator_integer(v, e->operand[1], &b))
            return HC_IS_ABSENT;
        switch ((int)e->function) {
        case HC_FN_less:
            return truth_of(a < b);
        case HC_FN_less_equal:
            return truth_of(a <= b);
        case HC_FN_greater:
            return truth_of(a > b);
        case HC_FN_greater_equal:
            return truth_of(a >= b);
        case HC_FN_equal:
            return truth_of(a == b);
        default:
            return truth_of(a != b);
        }
    }
    const struct hc_enclosure *x[2] = {NULL, NULL};
    for (int i = 0; i < e->operands; i++) {
        x[i] = hc_evaluator_real(v, e->operand[i]);
        if (!x[i] || x[i]->absent)
            return HC_IS_ABSENT;
    }
    bool sure;
    bool real = hc_enclosure_compare(e->function, x, &sure);
    bool unordered = hc_enclosure_unordered(e->function, x);
    return maybe(sure && !unordered, unordered, real);
}

bool hc_evaluator_count(struct hc_evaluator *v, const struct hc_expression *e, struct hc_counted *c)
{
    int64_t outside = v->place[e->axis];
    *c = (struct hc_counted){0};
    for (int64_t i = 0; i < v->instance->extent[e->axis]; i++) {
        v->place[e->axis] = i;
        enum hc_truth there = e->operands > 1 ? hc_evaluator_truth(v, e->operand[1]) : HC_IS_TRUE;
        enum hc_truth body = there == HC_IS_FALSE || there == HC_IS_ABSENT
                                 ? HC_IS_ABSENT
                                 : hc_evaluator_truth(v, e->operand[0]);
        if (v->status != HC_OK)
            return false;
        c->places += body != HC_IS_ABSENT;
        c->real += hc_truth_really(there) && hc_truth_really(body);
        c->sure += there == HC_IS_TRUE && body == HC_IS_TRUE;
        c->maybe += body == HC_IS_TRUE || hc_truth_unsure(body);
        c->unordered = c->unordered || hc_truth_unordered(there) || hc_truth_unordered(body);
        v->operations++;
    }
    v->place[e->axis] = outside;
    return true;
}

enum hc_truth hc_evaluator_truth(struct hc_evaluator *v, const struct hc_expression *e)
{
    enum hc_truth a;
    enum hc_truth b;
    struct hc_counted c;
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        return truth_of(*e->at == 't');
    case HC_EXPRESSION_OPTION: {
        const char *text = v->instance->option[e->option];
        return text ? truth_of(*text == 't')
                    : hc_evaluator_truth(v, v->definition->option[e->option].value);
    }
    case HC_EXPRESSION_NOT:
        a = hc_evaluator_truth(v, e->operand[0]);
        return a == HC_IS_ABSENT
                   ? a
                   : maybe(!hc_truth_unsure(a), hc_truth_unordered(a), !hc_truth_really(a));
    case HC_EXPRESSION_AND:
    case HC_EXPRESSION_OR: {
        bool decides = e->kind == HC_EXPRESSION_OR;
        a = hc_evaluator_truth(v, e->operand[0]);
        if (a == truth_of(decides) || a == HC_IS_ABSENT)
            return a;
        b = hc_evaluator_truth(v, e->operand[1]);
        if (b == truth_of(decides) || b == HC_IS_ABSENT)
            return b;
        return maybe(!hc_truth_unsure(a) && !hc_truth_unsure(b),
                     hc_truth_unordered(a) || hc_truth_unordered(b),
                     decides ? hc_truth_really(a) || hc_truth_really(b)
                             : hc_truth_really(a) && hc_truth_really(b));
    }
    case HC_EXPRESSION_OVER:
        if (!hc_evaluator_count(v, e, &c))
            return HC_IS_ABSENT;
        if (e->reduction == HC_OVER_ANY)
            return maybe(c.sure > 0 || c.maybe == 0, c.unordered, c.real > 0);
        return maybe(c.sure == c.places || c.maybe < c.places, c.unordered, c.real == c.places);
    default:
        return compare(v, e);
    }
}
