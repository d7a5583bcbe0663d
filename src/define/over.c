/* Reductions, which are over one axis each.

     reduction = NAME "(" range { "," range } ":" truth [ "where" truth ] ")"
     range     = AXIS [ ( "<" | "<=" ) sum ] */
#include <string.h>

#include "define/reader.h"

const char *const hc_reduction_names[HC_REDUCTIONS] = {
    [HC_OVER_SUM] = "sum", [HC_OVER_MEAN] = "mean", [HC_OVER_PROD] = "prod",
    [HC_OVER_MAX] = "max", [HC_OVER_MIN] = "min",   [HC_OVER_COUNT] = "count",
    [HC_OVER_ANY] = "any", [HC_OVER_ALL] = "all",   [HC_OVER_ARGMAX] = "argmax",
};

/* The axes of a reduction, and what bounds each: "u" or "u < t" or "u <= t". */
struct ranges {
    int axes;
    int axis[HC_MAX_REDUCED];
    struct hc_expression *bound[HC_MAX_REDUCED]; /* NULL: none */
    enum hc_function below[HC_MAX_REDUCED];
};

static bool read_ranges(struct hc_reader *r, struct ranges *ranges)
{
    do {
        struct hc_token token = r->token;
        int i = ranges->axes;
        if (i == HC_MAX_REDUCED)
            return hc_reader_wrong(r, token.at, token.length, "at most %d axes stand here",
                                   HC_MAX_REDUCED);
        if (!hc_read_axis(r, &ranges->axis[i]))
            return false;
        if (r->bound[ranges->axis[i]])
            return hc_reader_wrong(r, token.at, token.length,
                                   "%s has a meaning here already: the sum needs another axis, or "
                                   "an equation of its own",
                                   hc_parser_quote(token.at, token.length).text);
        ranges->below[i] = hc_reader_is(r, "<=") ? HC_FN_less_equal : HC_FN_less;
        if ((hc_reader_take(r, "<") || hc_reader_take(r, "<=")) &&
            !hc_read_expression(r, HC_TYPE_INTEGER, &ranges->bound[i]))
            return false;
        ranges->axes++;
    } while (hc_reader_take(r, ","));
    return hc_reader_expect(r, ":", "':'");
}

/* The condition of axis i: its bound, and `where`; NULL if it has neither. */
static bool make_condition(struct hc_reader *r, const struct ranges *ranges, int i,
                           const char *start, struct hc_expression *where,
                           struct hc_expression **condition)
{
    struct hc_expression point = {
        .kind = HC_EXPRESSION_AXIS, .axis = ranges->axis[i], .type = HC_TYPE_INTEGER};
    struct hc_expression *place = NULL;
    *condition = where;
    if (!ranges->bound[i])
        return true;
    if (!hc_expression_make(r, point, start, &place) ||
        !hc_expression_apply(r, ranges->below[i], start, place, ranges->bound[i], condition))
        return false;
    struct hc_expression both = {.kind = HC_EXPRESSION_AND,
                                 .type = HC_TYPE_TRUTH,
                                 .exact = where && where->exact,
                                 .operands = 2,
                                 .operand = {*condition, where}};
    return !where || hc_expression_make(r, both, start, condition);
}

/* A reduction over several axes is one over each, the last axis the innermost with the condition;
   of a count the outer ones add up. */
static bool make_over(struct hc_reader *r, enum hc_reduction reduction, const struct ranges *ranges,
                      const char *start, struct hc_expression *where, struct hc_expression **body)
{
    bool truth = reduction == HC_OVER_ANY || reduction == HC_OVER_ALL;
    bool sum = reduction == HC_OVER_SUM || reduction == HC_OVER_MEAN;
    (*body)->summed = sum && (*body)->kind == HC_EXPRESSION_APPLY && (*body)->function == HC_FN_mul;
    for (int i = ranges->axes - 1; i >= 0; i--) {
        struct hc_expression *condition;
        if (!make_condition(r, ranges, i, start, where, &condition))
            return false;
        struct hc_expression node = {.kind = HC_EXPRESSION_OVER,
                                     .type = truth                         ? HC_TYPE_TRUTH
                                             : reduction == HC_OVER_ARGMAX ? HC_TYPE_INTEGER
                                                                           : HC_TYPE_REAL,
                                     .exact = truth && (*body)->exact &&
                                              (!condition || condition->exact),
                                     .reduction = reduction,
                                     .axis = ranges->axis[i],
                                     .operands = condition ? 2 : 1,
                                     .operand = {*body, condition}};
        if (!hc_expression_make(r, node, start, body))
            return false;
        where = NULL;
        reduction = reduction == HC_OVER_COUNT ? HC_OVER_SUM : reduction;
    }
    return true;
}

/* A mean over several axes is the sum of all over the product of the extents. */
static bool make_mean(struct hc_reader *r, const struct ranges *ranges, const char *start,
                      struct hc_expression *where, struct hc_expression **body)
{
    struct hc_expression *places = NULL;
    for (int i = 0; i < ranges->axes; i++) {
        struct hc_expression extent = {
            .kind = HC_EXPRESSION_EXTENT, .axis = ranges->axis[i], .type = HC_TYPE_INTEGER};
        struct hc_expression *one = NULL;
        if (where || ranges->bound[i])
            return hc_reader_wrong(r, start, r->end - start,
                                   "a mean over several axes has no condition: write a sum over a "
                                   "count");
        if (!hc_expression_make(r, extent, start, &one) ||
            (places && !hc_expression_apply(r, HC_FN_mul, start, places, one, &one)))
            return false;
        places = one;
    }
    if (!make_over(r, HC_OVER_SUM, ranges, start, NULL, body) ||
        !hc_expression_apply(r, HC_FN_div, start, *body, places, body))
        return false;
    (*body)->mean = true;
    return true;
}

bool hc_read_over(struct hc_reader *r, enum hc_reduction reduction, const char *start,
                  struct hc_expression **e)
{
    struct ranges ranges = {.axes = 0};
    struct hc_expression *where = NULL;
    bool truths =
        reduction == HC_OVER_COUNT || reduction == HC_OVER_ANY || reduction == HC_OVER_ALL;
    if (!read_ranges(r, &ranges))
        return false;
    if (reduction == HC_OVER_ARGMAX && ranges.axes > 1)
        return hc_reader_wrong(r, start, r->end - start, "argmax is over one axis");
    for (int i = 0; i < ranges.axes; i++)
        r->bound[ranges.axis[i]]++;
    if (!hc_read_expression(r, truths ? HC_TYPE_TRUTH : HC_TYPE_REAL, e) ||
        (hc_reader_take(r, "where") && !hc_read_expression(r, HC_TYPE_TRUTH, &where)))
        return false;
    for (int i = 0; i < ranges.axes; i++)
        r->bound[ranges.axis[i]]--;
    r->brackets--;
    if (!hc_reader_expect(r, ")", "')' or an operator"))
        return false;
    return reduction == HC_OVER_MEAN && ranges.axes > 1
               ? make_mean(r, &ranges, start, where, e)
               : make_over(r, reduction, &ranges, start, where, e);
}

/* Means and variances: m = mean(d: x) and v = mean(d: (x - m)^2), which are one computation to
   Welford's formulas. */

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
