/* The walk over a definition's equations, for one element and what it needs. */
#include "define/value.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "define/evaluator.h"

bool hc_evaluator_fail(struct hc_evaluator *v, const char *what)
{
    if (v->status == HC_OK)
        v->status = hc_fail(HC_INVALID, "%s: %s", v->definition->name, what);
    return false;
}

static void forget(struct hc_kept *kept)
{
    for (size_t i = 0; i < kept->room; i++)
        if (kept->row[i].value) {
            hc_enclosure_free(kept->row[i].value);
            free(kept->row[i].value);
        }
    free(kept->row);
    *kept = (struct hc_kept){.row = NULL};
}

/* The row of an element, or the free one where it would stand; there is one, since at most half of
   the rows are taken. */
static struct hc_kept_row *row_of(const struct hc_kept *kept, int64_t index)
{
    uint64_t hash = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 20) & (kept->room - 1);
    while (kept->row[i].value && kept->row[i].index != index)
        i = (i + 1) & (kept->room - 1);
    return &kept->row[i];
}

/* The free row of an element that is not kept yet; NULL: no memory. */
static struct hc_kept_row *new_row(struct hc_kept *kept, int64_t index)
{
    if (2 * (kept->count + 1) > kept->room) {
        struct hc_kept more = {.room = kept->room ? 2 * kept->room : 64, .count = kept->count};
        more.row = calloc(more.room, sizeof *more.row);
        if (!more.row)
            return NULL;
        for (size_t i = 0; i < kept->room; i++)
            if (kept->row[i].value)
                *row_of(&more, kept->row[i].index) = kept->row[i];
        free(kept->row);
        *kept = more;
    }
    kept->count++;
    struct hc_kept_row *row = row_of(kept, index);
    row->index = index;
    return row;
}

/* Real numbers. */

/* An index, which nearly always is an axis. */
static bool place_of(struct hc_evaluator *v, const struct hc_expression *e, int64_t *place)
{
    if (e->kind != HC_EXPRESSION_AXIS)
        return hc_evaluator_integer(v, e, place);
    *place = v->place[e->axis];
    return true;
}

static const struct hc_enclosure *read_input(struct hc_evaluator *v, const struct hc_expression *e,
                                             const struct hc_tensor *t)
{
    struct hc_enclosure *y = &v->node[e->id];
    int64_t index = 0;
    bool inside = true;
    for (int i = 0; i < e->operands; i++) {
        int64_t at;
        if (!place_of(v, e->operand[i], &at))
            return NULL;
        inside = inside && at >= 0 && at < t->shape[i];
        index = index * t->shape[i] + at;
    }
    hc_enclosure_input(&v->arithmetic, y, inside ? hc_tensor_get(t, index) : 0);
    return y;
}

/* The value of tensor's element at the places of its axes, which are bound. A result that is stored
   is rounded once, and the judge does that. */
static const struct hc_enclosure *compute_as_told(struct hc_evaluator *v, int tensor, bool result)
{
    const struct hc_defined_tensor *t = &v->definition->tensor[tensor];
    bool stored = t->value->kind == HC_EXPRESSION_STORE && t->value->format == HC_FORMAT_COUNT &&
                  (t->format == HC_FORMAT_COUNT || t->format == v->instance->io);
    const struct hc_expression *value = result && stored ? t->value->operand[0] : t->value;
    struct hc_enclosure *y = &v->node[value->id];
    enum hc_truth there = t->where ? hc_evaluator_truth(v, t->where) : HC_IS_TRUE;
    if (v->status != HC_OK)
        return NULL;
    if (!hc_truth_really(there)) {
        hc_enclosure_set(&v->arithmetic, y, 0);
        y->absent = true;
        y->rad = hc_truth_unsure(there) || v->doubtful ? (double)INFINITY : 0;
        return y;
    }
    const struct hc_enclosure *x = hc_evaluator_real(v, value);
    if (!x)
        return NULL;
    if (!t->shift && there == HC_IS_TRUE && !v->doubtful)
        return x;
    /* Nobody may ask how exactly a shift was computed: every number cancels. */
    if (y != x)
        hc_enclosure_copy(&v->arithmetic, y, x);
    y->known = false;
    y->terms = 0;
    y->factors = 0;
    y->standing = t->shift ? HC_IS_SHIFT : y->standing;
    if (t->shift && isfinite(hc_enclosure_double(y)))
        y->rad = 0;
    if (hc_truth_unsure(there) || v->doubtful)
        y->rad = (double)INFINITY;
    return y;
}

/* Whether some number that is given is an infinity or a NaN. */
static bool has_specials(struct hc_evaluator *v)
{
    for (int i = 0; i < v->definition->inputs && !v->looked; i++) {
        const struct hc_tensor *t = &v->instance->input[i];
        for (int64_t k = 0; k < hc_tensor_count(t) && !v->specials; k++)
            v->specials = !v->definition->tensor[i].index && !isfinite(hc_tensor_get(t, k));
    }
    v->looked = true;
    return v->specials;
}

/* The same, with what an implementation is suspected of. */
static const struct hc_enclosure *compute(struct hc_evaluator *v, int tensor, bool result)
{
    struct hc_arithmetic outside = v->arithmetic;
    bool suspected = v->instance->suspect == tensor;
    bool doubtful = v->doubtful; /* of the element that reads this one, and not of this one */
    v->doubtful = false;
    v->arithmetic = suspected && v->instance->narrow ? v->narrow : v->wide;
    v->arithmetic.regroups = v->definition->tensor[tensor].gradient && has_specials(v);
    const struct hc_enclosure *x = compute_as_told(v, tensor, result);
    if (x && suspected && !v->instance->narrow && !result) {
        hc_enclosure_store(&v->wide, &v->stored, x, HC_FORMAT_COUNT, false);
        x = &v->stored;
    }
    v->arithmetic = outside;
    v->doubtful = doubtful;
    return x;
}

/* The number of an element whose axes have these places. */
static int64_t index_of(const struct hc_evaluator *v, int tensor, const int64_t *at)
{
    const struct hc_defined_tensor *t = &v->definition->tensor[tensor];
    int64_t index = 0;
    for (int i = 0; i < t->rank; i++)
        index = index * v->instance->extent[t->axis[i]] + at[i];
    return index;
}

/* The element if it is kept, or NULL. */
static const struct hc_enclosure *find(struct hc_evaluator *v, int tensor, const int64_t *at)
{
    const struct hc_kept *kept = &v->kept[tensor];
    return kept->room ? row_of(kept, index_of(v, tensor, at))->value : NULL;
}

/* An element of an equation's tensor, kept for the next time. */
static const struct hc_enclosure *kept(struct hc_evaluator *v, int tensor, const int64_t *at)
{
    const struct hc_defined_tensor *t = &v->definition->tensor[tensor];
    const struct hc_enclosure *x = find(v, tensor, at);
    if (x)
        return x;
    int64_t outside[HC_MAX_AXES];
    memcpy(outside, v->place, sizeof outside);
    for (int i = 0; i < t->rank; i++)
        v->place[t->axis[i]] = at[i];
    x = compute(v, tensor, false);
    memcpy(v->place, outside, sizeof outside);
    if (!x)
        return NULL;
    int64_t bytes = (int64_t)sizeof *x + 192 + v->arithmetic.precision / 8;
    if (v->kept_count++ >= HC_MAX_KEPT / bytes) {
        hc_evaluator_fail(v, "an element needs more others than 512 MiB hold");
        return NULL;
    }
    struct hc_enclosure *value = calloc(1, sizeof *value);
    struct hc_kept_row *row = value ? new_row(&v->kept[tensor], index_of(v, tensor, at)) : NULL;
    if (!row) {
        free(value);
        v->status = hc_fail(HC_NO_MEMORY, "no memory for elements of %s", t->name);
        return NULL;
    }
    hc_enclosure_copy(&v->arithmetic, value, x);
    value->factors = 0; /* what reads it has one number */
    return row->value = value;
}

/* A scan is computed from its start on, or from the last element that is kept, so that no element
   waits for another. */
static const struct hc_enclosure *scanned(struct hc_evaluator *v, int tensor, int64_t *at)
{
    const struct hc_defined_tensor *t = &v->definition->tensor[tensor];
    const struct hc_enclosure *x = NULL;
    int along = 0;
    while (t->axis[along] != t->scan)
        along++;
    int64_t last = at[along];
    int64_t from = last;
    while (from > 0 && !find(v, tensor, at))
        at[along] = --from;
    for (int64_t i = from; i <= last; i++) {
        at[along] = i;
        x = kept(v, tensor, at);
        if (!x)
            return NULL;
    }
    return x;
}

static const struct hc_enclosure *read(struct hc_evaluator *v, const struct hc_expression *e)
{
    const struct hc_defined_tensor *t = &v->definition->tensor[e->tensor];
    int64_t at[HC_MAX_RANK];
    bool before = false;
    bool inside = true;
    if (t->input)
        return read_input(v, e, &v->instance->input[e->tensor]);
    for (int i = 0; i < e->operands; i++) {
        if (!place_of(v, e->operand[i], &at[i]))
            return NULL;
        before = before || (t->axis[i] == t->scan && at[i] == -1);
        inside = inside && at[i] >= 0 && at[i] < v->instance->extent[t->axis[i]];
    }
    if (!inside && !(before && t->before)) {
        hc_enclosure_set(&v->arithmetic, &v->node[e->id], 0);
        return &v->node[e->id];
    }
    if (before) {
        int64_t outside[HC_MAX_AXES];
        memcpy(outside, v->place, sizeof outside);
        for (int i = 0; i < t->rank; i++)
            v->place[t->axis[i]] = at[i];
        const struct hc_enclosure *x = hc_evaluator_real(v, t->before);
        memcpy(v->place, outside, sizeof outside);
        return x;
    }
    /* Inside of its own equation the element before is there. */
    return t->scan < 0 ? kept(v, e->tensor, at) : scanned(v, e->tensor, at);
}

/* The mean y of squares, which expression e is: what a variance costs by Welford's formulas is in
   its radius, too. */
static const struct hc_enclosure *with_welford(struct hc_evaluator *v,
                                               const struct hc_expression *e,
                                               struct hc_enclosure *y, int64_t terms)
{
    const struct hc_expression *square = e->operand[0];
    if (!e->variance)
        return y;
    while (square->kind == HC_EXPRESSION_OVER)
        square = square->operand[0];
    const struct hc_enclosure *mean = hc_evaluator_real(v, square->operand[0]->operand[1]);
    if (mean)
        hc_enclosure_welford(&v->arithmetic, y, mean, terms);
    return mean ? y : NULL;
}

/* Whether a term that a sum leaves out is an infinity or a NaN: an implementation that multiplies
   it with 0 has NaN. A term that cannot be computed is not. */
static bool is_special(struct hc_evaluator *v, const struct hc_expression *e)
{
    bool sum = e->reduction == HC_OVER_SUM || e->reduction == HC_OVER_MEAN;
    if (!sum || v->status != HC_OK || !has_specials(v))
        return false;
    bool doubtful = v->doubtful;
    const struct hc_enclosure *x = hc_evaluator_real(v, e->operand[0]);
    bool special = x && (x->nan || !isfinite(hc_enclosure_double(x)));
    v->doubtful = doubtful;
    v->status = HC_OK;
    return special;
}

static const struct hc_enclosure *over(struct hc_evaluator *v, const struct hc_expression *e)
{
    struct hc_enclosure *y = &v->node[e->id];
    int64_t outside = v->place[e->axis];
    struct hc_running running;
    hc_running_start(&v->arithmetic, &running, e->reduction, y);
    running.settled = !e->moment;
    if (e->reduction == HC_OVER_COUNT) {
        struct hc_counted c;
        if (!hc_evaluator_count(v, e, &c))
            return NULL;
        hc_enclosure_set(&v->arithmetic, y, (double)c.real);
        y->rad = fmax((double)(c.maybe - c.real), (double)(c.real - c.sure));
        return y;
    }
    for (int64_t i = 0; i < v->instance->extent[e->axis]; i++) {
        v->place[e->axis] = i;
        if (++v->operations > HC_MAX_OPERATIONS) {
            hc_evaluator_fail(v, "one element takes more than 2^28 operations");
            return NULL;
        }
        enum hc_truth there = e->operands > 1 ? hc_evaluator_truth(v, e->operand[1]) : HC_IS_TRUE;
        if (there == HC_IS_FALSE || (there == HC_IS_ABSENT && v->status == HC_OK)) {
            running.nan = running.nan || (there == HC_IS_FALSE && is_special(v, e));
            continue;
        }
        const struct hc_enclosure *x =
            v->status == HC_OK ? hc_evaluator_real(v, e->operand[0]) : NULL;
        if (!x)
            return NULL;
        running.nan = running.nan || x->nan;
        if (!x->absent && hc_truth_really(there))
            hc_running_add(&v->arithmetic, &running, x, hc_truth_unsure(there));
        else if (hc_truth_unsure(there) || isinf(x->rad))
            running.rads = (double)INFINITY;
    }
    v->place[e->axis] = outside;
    hc_running_end(&v->arithmetic, &running);
    return e->reduction == HC_OVER_MEAN ? with_welford(v, e, y, running.terms) : y;
}

/* A number of the text, and an option: as the format of the computation has it. */
static const struct hc_enclosure *option(struct hc_evaluator *v, int i)
{
    struct hc_enclosure *y = &v->option[i];
    const char *text = v->instance->option[i];
    if (v->option_known[i])
        return y;
    if (text) {
        hc_enclosure_read(&v->arithmetic, y, text);
    } else {
        const struct hc_enclosure *x = hc_evaluator_real(v, v->definition->option[i].value);
        if (!x)
            return NULL;
        hc_enclosure_copy(&v->arithmetic, y, x);
        y->factors = 0;
        hc_enclosure_given(&v->arithmetic, y);
    }
    v->option_known[i] = true;
    return y;
}

/* Any number between two. */
static const struct hc_enclosure *either(struct hc_evaluator *v, const struct hc_expression *e)
{
    struct hc_enclosure *y = &v->node[e->id];
    const struct hc_enclosure *a = hc_evaluator_real(v, e->operand[0]);
    const struct hc_enclosure *b = a ? hc_evaluator_real(v, e->operand[1]) : NULL;
    if (!b)
        return NULL;
    hc_enclosure_between(&v->arithmetic, y, a, b);
    y->absent = a->absent || b->absent;
    if ((a->absent && isinf(a->rad)) || (b->absent && isinf(b->rad)))
        y->rad = (double)INFINITY;
    return y;
}

static const struct hc_enclosure *apply(struct hc_evaluator *v, const struct hc_expression *e)
{
    const struct hc_enclosure *x[HC_MAX_EXPRESSION_OPERANDS] = {NULL};
    struct hc_enclosure *y = &v->node[e->id];
    bool chosen = e->function == HC_FN_select;
    bool absent = false;
    bool doubtful = false; /* rounding may turn around whether an operand is absent */
    bool special = false;
    bool nan = false;
    enum hc_truth c = HC_IS_TRUE;
    if (chosen) {
        c = hc_evaluator_truth(v, e->operand[0]);
        if (v->status != HC_OK)
            return NULL;
        if (c <= HC_IS_TRUE)
            return hc_evaluator_real(v, e->operand[c == HC_IS_TRUE ? 1 : 2]);
        absent = c == HC_IS_ABSENT;
    }
    for (int i = chosen; i < e->operands; i++) {
        /* A square has one operand. */
        x[i] = i > 0 && e->operand[i] == e->operand[i - 1] ? x[i - 1]
                                                           : hc_evaluator_real(v, e->operand[i]);
        if (!x[i])
            return NULL;
        absent = absent || x[i]->absent;
        doubtful = doubtful || (x[i]->absent && isinf(x[i]->rad));
        special = special || !isfinite(hc_enclosure_double(x[i])) ||
                  (isinf(x[i]->rad) && !x[i]->absent); /* it may overflow */
        nan = nan || x[i]->nan;
    }
    if (absent) {
        hc_enclosure_set(&v->arithmetic, y, 0);
        y->absent = true;
        /* What is absent may be left out, or be multiplied with 0. */
        y->nan = nan || (special && e->function == HC_FN_mul);
        y->rad = doubtful ? (double)INFINITY : 0;
        return y;
    }
    if (chosen)
        (hc_truth_unordered(c) ? hc_enclosure_any : hc_enclosure_either)(
            &v->arithmetic, y, x[hc_truth_really(c) ? 1 : 2], x[hc_truth_really(c) ? 2 : 1]);
    else
        hc_enclosure_apply(&v->arithmetic, y, e->function, x);
    if (e->summed)
        hc_enclosure_factors(&v->arithmetic, y, x);
    if (!e->mean)
        return y;
    int64_t terms = 1;
    for (const struct hc_expression *o = e->operand[0]; o->kind == HC_EXPRESSION_OVER;
         o = o->operand[0])
        terms *= v->instance->extent[o->axis];
    return with_welford(v, e, y, terms);
}

const struct hc_enclosure *hc_evaluator_real(struct hc_evaluator *v, const struct hc_expression *e)
{
    struct hc_enclosure *y = &v->node[e->id];
    const struct hc_enclosure *x;
    if (e->type == HC_TYPE_INTEGER) {
        int64_t value = 0;
        if (!hc_evaluator_integer(v, e, &value))
            return NULL;
        hc_enclosure_set(&v->arithmetic, y, (double)value);
        return y;
    }
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        if (y->known && !v->instance->narrow)
            return y;
        hc_enclosure_number(&v->arithmetic, y, e->at, e->length);
        y->known = true;
        return y;
    case HC_EXPRESSION_OPTION:
        return option(v, e->option);
    case HC_EXPRESSION_READ:
        return read(v, e);
    case HC_EXPRESSION_OVER:
        return over(v, e);
    case HC_EXPRESSION_EITHER:
        return either(v, e);
    case HC_EXPRESSION_STORE:
        x = hc_evaluator_real(v, e->operand[0]);
        if (!x)
            return NULL;
        if (e->optional && v->instance->optional == HC_STORES_NOT)
            return x;
        hc_enclosure_store(&v->arithmetic, y, x, e->format,
                           !e->optional || v->instance->optional == HC_STORES);
        return y;
    default:
        assert(e->kind == HC_EXPRESSION_APPLY);
        return apply(v, e);
    }
}

static void set_precision(struct hc_evaluator *v, long precision)
{
    struct hc_freedoms narrow = v->instance->freedoms;
    narrow.compute = v->instance->io;
    v->wide = hc_arithmetic_of(&v->instance->freedoms, v->instance->io, precision);
    v->narrow = hc_arithmetic_of(&narrow, v->instance->io, precision);
    v->arithmetic = v->wide;
}

struct hc_evaluator *hc_evaluator_new(const struct hc_instance *instance)
{
    struct hc_evaluator *v = calloc(1, sizeof *v);
    if (v)
        v->node = calloc((size_t)instance->definition->expressions, sizeof *v->node);
    if (!v || !v->node) {
        free(v);
        (void)hc_fail(HC_NO_MEMORY, "no memory to evaluate a definition");
        return NULL;
    }
    v->instance = instance;
    v->definition = instance->definition;
    set_precision(v, HC_FIRST_PRECISION);
    return v;
}

static void forget_all(struct hc_evaluator *v)
{
    for (int i = 0; i < HC_MAX_DEFINED_TENSORS; i++)
        forget(&v->kept[i]);
    for (int i = 0; i < v->definition->expressions; i++)
        hc_enclosure_free(&v->node[i]);
    hc_enclosure_free(&v->stored);
    for (int i = 0; i < HC_MAX_DEFINED_OPTIONS; i++) {
        hc_enclosure_free(&v->option[i]);
        v->option_known[i] = false;
    }
    v->kept_count = 0;
}

void hc_evaluator_free(struct hc_evaluator *evaluator)
{
    if (!evaluator)
        return;
    forget_all(evaluator);
    free(evaluator->node);
    free(evaluator);
}

enum hc_status hc_evaluator_element(struct hc_evaluator *evaluator, int tensor, int64_t index,
                                    struct hc_defined_value *value)
{
    struct hc_evaluator *v = evaluator;
    const struct hc_defined_tensor *t = &v->definition->tensor[tensor];
    int64_t at[HC_MAX_RANK] = {0};
    for (int i = t->rank - 1; i >= 0; i--) {
        int64_t extent = v->instance->extent[t->axis[i]];
        at[i] = index % extent;
        index /= extent;
    }
    for (;;) {
        v->operations = 0;
        v->status = HC_OK;
        const struct hc_enclosure *x = t->scan < 0 ? NULL : scanned(v, tensor, at);
        if (t->scan < 0) {
            for (int i = 0; i < t->rank; i++)
                v->place[t->axis[i]] = at[i];
            x = compute(v, tensor, true);
        }
        if (!x)
            return v->status == HC_OK ? HC_INVALID : v->status;
        value->want = hc_real_exact(x->real);
        value->rad = x->rad;
        value->absent = x->absent;
        value->nan = x->nan;
        value->or_infinite = x->or_infinite;
        double size = fabs(value->want.hi);
        bool sharp = x->own <= 0x1p-40 * x->rad || x->own <= 0x1p-100 * size || isinf(x->rad);
        if (sharp)
            return HC_OK;
        if (v->arithmetic.precision >= HC_LAST_PRECISION) {
            value->rad = (double)INFINITY;
            return HC_OK;
        }
        long precision = 2 * v->arithmetic.precision;
        forget_all(v);
        set_precision(v, precision);
    }
}
