/* The walk over a definition's equations, for one element and what it needs. */
#include "define/value.h"

#include <assert.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "define/enclosure.h"

/* An element of an intermediate tensor that is kept. */
struct kept {
    int64_t index;
    struct hc_enclosure value;
};

struct hc_evaluator {
    const struct hc_instance *instance;
    const struct hc_definition *definition;
    struct hc_arithmetic arithmetic; /* of the equation that is computed: one of these two */
    struct hc_arithmetic wide;
    struct hc_arithmetic narrow;
    struct hc_enclosure stored;         /* the suspect's element, rounded once more */
    void *kept[HC_MAX_DEFINED_TENSORS]; /* trees of POSIX's tsearch */
    int64_t kept_count;
    bool doubtful; /* rounding may turn around where the largest is, on which the element depends */
    int64_t operations;                           /* for the element so far */
    int64_t place[HC_MAX_AXES];                   /* of the axes that are bound */
    struct hc_enclosure node[HC_MAX_EXPRESSIONS]; /* results of operations, by id */
    struct hc_enclosure option[HC_MAX_DEFINED_OPTIONS];
    bool option_known[HC_MAX_DEFINED_OPTIONS];
    enum hc_status status;
};

/* In real numbers it is false or true; and an implementation's roundings may turn it around. */
enum truth { IS_FALSE, IS_TRUE, MAYBE_FALSE, MAYBE_TRUE, IS_ABSENT };

static bool really(enum truth t)
{
    return t == IS_TRUE || t == MAYBE_TRUE;
}

static bool is_unsure(enum truth t)
{
    return t == MAYBE_FALSE || t == MAYBE_TRUE;
}

static const struct hc_enclosure *evaluate(struct hc_evaluator *v, const struct hc_expression *e);

static bool fail(struct hc_evaluator *v, const char *what)
{
    if (v->status == HC_OK)
        v->status = hc_fail(HC_INVALID, "%s: %s", v->definition->name, what);
    return false;
}

static int by_index(const void *a, const void *b)
{
    int64_t x = ((const struct kept *)a)->index;
    int64_t y = ((const struct kept *)b)->index;
    return (x > y) - (x < y);
}

static void forget(void **tree)
{
    while (*tree) {
        struct kept *k = *(struct kept **)*tree;
        (void)tdelete(k, tree, by_index);
        hc_enclosure_free(&k->value);
        free(k);
    }
}

/* Integers and truths of integers, which are exact. False: the expression has no value here. */

static bool integer(struct hc_evaluator *v, const struct hc_expression *e, int64_t *value);

/* Reads an index tensor; the place beside it is 0, as every number there. */
static bool read_index(struct hc_evaluator *v, const struct hc_expression *e, int64_t *value)
{
    const struct hc_tensor *t = &v->instance->input[e->tensor];
    int64_t index = 0;
    *value = 0;
    for (int i = 0; i < e->operands; i++) {
        int64_t at;
        if (!integer(v, e->operand[i], &at))
            return false;
        if (at < 0 || at >= t->shape[i])
            return true;
        index = index * t->shape[i] + at;
    }
    *value = (int64_t)hc_tensor_get(t, index);
    return true;
}

static enum truth is_true(struct hc_evaluator *v, const struct hc_expression *e);

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
                fail(v, "one element takes more than 2^28 operations");
            enum truth there = e->operands > 1 ? is_true(v, e->operand[1]) : IS_TRUE;
            v->doubtful = v->doubtful || is_unsure(there);
            const struct hc_enclosure *x = really(there) ? evaluate(v, e->operand[0]) : NULL;
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
    if (e->kind == HC_EXPRESSION_AXIS) {
        *value = v->place[e->axis];
        return true;
    }
    if (e->kind == HC_EXPRESSION_READ)
        return read_index(v, e, value);
    if (e->kind == HC_EXPRESSION_OVER)
        return argmax(v, e, value);
    enum truth c = is_true(v, e->operand[0]);
    return c <= IS_TRUE && integer(v, e->operand[c == IS_TRUE ? 1 : 2], value);
}

static bool integer(struct hc_evaluator *v, const struct hc_expression *e, int64_t *value)
{
    struct hc_integers integers = {v->instance, integer_here, v, NULL};
    return hc_integer_value(&integers, e, value) || (integers.wrong && fail(v, integers.wrong));
}

static enum truth truth_of(bool b)
{
    return b ? IS_TRUE : IS_FALSE;
}

static enum truth maybe(bool sure, bool real)
{
    return sure ? truth_of(real) : real ? MAYBE_TRUE : MAYBE_FALSE;
}

static enum truth compare(struct hc_evaluator *v, const struct hc_expression *e)
{
    if (e->exact) {
        int64_t a;
        int64_t b;
        if (!integer(v, e->operand[0], &a) || !integer(v, e->operand[1], &b))
            return IS_ABSENT;
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
        x[i] = evaluate(v, e->operand[i]);
        if (!x[i] || x[i]->absent)
            return IS_ABSENT;
    }
    bool sure;
    bool real = hc_enclosure_compare(e->function, x, &sure);
    return maybe(sure, real);
}

/* any, all and count over an axis: of how many places the body is true, and of how many it surely
   is, and may be. */
struct counted {
    int64_t places;
    int64_t real;
    int64_t sure;
    int64_t maybe;
};

static bool count(struct hc_evaluator *v, const struct hc_expression *e, struct counted *c)
{
    int64_t outside = v->place[e->axis];
    *c = (struct counted){0};
    for (int64_t i = 0; i < v->instance->extent[e->axis]; i++) {
        v->place[e->axis] = i;
        enum truth there = e->operands > 1 ? is_true(v, e->operand[1]) : IS_TRUE;
        enum truth body =
            there == IS_FALSE || there == IS_ABSENT ? IS_ABSENT : is_true(v, e->operand[0]);
        if (v->status != HC_OK)
            return false;
        c->places += body != IS_ABSENT;
        c->real += really(there) && really(body);
        c->sure += there == IS_TRUE && body == IS_TRUE;
        c->maybe += body == IS_TRUE || is_unsure(body);
        v->operations++;
    }
    v->place[e->axis] = outside;
    return true;
}

static enum truth is_true(struct hc_evaluator *v, const struct hc_expression *e)
{
    enum truth a;
    enum truth b;
    struct counted c;
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        return truth_of(*e->at == 't');
    case HC_EXPRESSION_OPTION: {
        const char *text = v->instance->option[e->option];
        return text ? truth_of(*text == 't') : is_true(v, v->definition->option[e->option].value);
    }
    case HC_EXPRESSION_NOT:
        a = is_true(v, e->operand[0]);
        return a == IS_ABSENT ? a : maybe(!is_unsure(a), !really(a));
    case HC_EXPRESSION_AND:
    case HC_EXPRESSION_OR: {
        bool decides = e->kind == HC_EXPRESSION_OR;
        a = is_true(v, e->operand[0]);
        if (a == truth_of(decides) || a == IS_ABSENT)
            return a;
        b = is_true(v, e->operand[1]);
        if (b == truth_of(decides) || b == IS_ABSENT)
            return b;
        return maybe(!is_unsure(a) && !is_unsure(b),
                     decides ? really(a) || really(b) : really(a) && really(b));
    }
    case HC_EXPRESSION_OVER:
        if (!count(v, e, &c))
            return IS_ABSENT;
        if (e->reduction == HC_OVER_ANY)
            return maybe(c.sure > 0 || c.maybe == 0, c.real > 0);
        return maybe(c.sure == c.places || c.maybe < c.places, c.real == c.places);
    default:
        return compare(v, e);
    }
}

/* Real numbers. */

static const struct hc_enclosure *read_input(struct hc_evaluator *v, const struct hc_expression *e,
                                             const struct hc_tensor *t)
{
    struct hc_enclosure *y = &v->node[e->id];
    int64_t index = 0;
    bool inside = true;
    for (int i = 0; i < e->operands; i++) {
        int64_t at;
        if (!integer(v, e->operand[i], &at))
            return NULL;
        inside = inside && at >= 0 && at < t->shape[i];
        index = index * t->shape[i] + at;
    }
    hc_enclosure_set(&v->arithmetic, y, inside ? hc_tensor_get(t, index) : 0);
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
    enum truth there = t->where ? is_true(v, t->where) : IS_TRUE;
    if (v->status != HC_OK)
        return NULL;
    if (!really(there)) {
        hc_enclosure_set(&v->arithmetic, y, 0);
        y->absent = true;
        y->rad = is_unsure(there) || v->doubtful ? (double)INFINITY : 0;
        return y;
    }
    const struct hc_enclosure *x = evaluate(v, value);
    if (!x)
        return NULL;
    if (!t->shift && there == IS_TRUE && !v->doubtful)
        return x;
    /* Nobody may ask how exactly a shift was computed: every number cancels. */
    if (y != x)
        hc_enclosure_copy(&v->arithmetic, y, x);
    y->terms = 0;
    y->standing = t->shift ? HC_IS_SHIFT : y->standing;
    if (t->shift && isfinite(hc_enclosure_double(y)))
        y->rad = 0;
    if (is_unsure(there) || v->doubtful)
        y->rad = (double)INFINITY;
    return y;
}

/* The same, with what an implementation is suspected of. */
static const struct hc_enclosure *compute(struct hc_evaluator *v, int tensor, bool result)
{
    struct hc_arithmetic outside = v->arithmetic;
    bool suspected = v->instance->suspect == tensor;
    bool doubtful = v->doubtful; /* of the element that reads this one, and not of this one */
    v->doubtful = false;
    v->arithmetic = suspected && v->instance->narrow ? v->narrow : v->wide;
    const struct hc_enclosure *x = compute_as_told(v, tensor, result);
    if (x && suspected && !v->instance->narrow && !result) {
        hc_enclosure_store(&v->wide, &v->stored, x, HC_FORMAT_COUNT);
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
    struct kept key = {.index = index_of(v, tensor, at)};
    struct kept **found = tfind(&key, &v->kept[tensor], by_index);
    return found ? &(*found)->value : NULL;
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
    int64_t bytes = (int64_t)sizeof(struct kept) + 192 + v->arithmetic.precision / 8;
    if (v->kept_count++ >= HC_MAX_KEPT / bytes) {
        fail(v, "an element needs more others than 512 MiB hold");
        return NULL;
    }
    struct kept *k = calloc(1, sizeof *k);
    if (k)
        k->index = index_of(v, tensor, at);
    if (!k || !tsearch(k, &v->kept[tensor], by_index)) {
        free(k);
        v->status = hc_fail(HC_NO_MEMORY, "no memory for elements of %s", t->name);
        return NULL;
    }
    hc_enclosure_copy(&v->arithmetic, &k->value, x);
    return &k->value;
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
        if (!integer(v, e->operand[i], &at[i]))
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
        const struct hc_enclosure *x = evaluate(v, t->before);
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
    const struct hc_enclosure *mean = evaluate(v, square->operand[0]->operand[1]);
    if (mean)
        hc_enclosure_welford(&v->arithmetic, y, mean, terms);
    return mean ? y : NULL;
}

static const struct hc_enclosure *over(struct hc_evaluator *v, const struct hc_expression *e)
{
    struct hc_enclosure *y = &v->node[e->id];
    int64_t outside = v->place[e->axis];
    struct hc_running running;
    hc_running_start(&v->arithmetic, &running, e->reduction, y);
    running.settled = !e->moment;
    if (e->reduction == HC_OVER_COUNT) {
        struct counted c;
        if (!count(v, e, &c))
            return NULL;
        hc_enclosure_set(&v->arithmetic, y, (double)c.real);
        y->rad = fmax((double)(c.maybe - c.real), (double)(c.real - c.sure));
        return y;
    }
    for (int64_t i = 0; i < v->instance->extent[e->axis]; i++) {
        v->place[e->axis] = i;
        if (++v->operations > HC_MAX_OPERATIONS) {
            fail(v, "one element takes more than 2^28 operations");
            return NULL;
        }
        enum truth there = e->operands > 1 ? is_true(v, e->operand[1]) : IS_TRUE;
        if (there == IS_FALSE || (there == IS_ABSENT && v->status == HC_OK))
            continue;
        const struct hc_enclosure *x = v->status == HC_OK ? evaluate(v, e->operand[0]) : NULL;
        if (!x)
            return NULL;
        if (!x->absent && really(there))
            hc_running_add(&v->arithmetic, &running, x, is_unsure(there));
        else if (is_unsure(there) || isinf(x->rad))
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
        const struct hc_enclosure *x = evaluate(v, v->definition->option[i].value);
        if (!x)
            return NULL;
        hc_enclosure_copy(&v->arithmetic, y, x);
        hc_enclosure_given(&v->arithmetic, y);
    }
    v->option_known[i] = true;
    return y;
}

/* Any number between two. */
static const struct hc_enclosure *either(struct hc_evaluator *v, const struct hc_expression *e)
{
    struct hc_enclosure *y = &v->node[e->id];
    const struct hc_enclosure *a = evaluate(v, e->operand[0]);
    const struct hc_enclosure *b = a ? evaluate(v, e->operand[1]) : NULL;
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
    enum truth c = IS_TRUE;
    if (chosen) {
        c = is_true(v, e->operand[0]);
        if (v->status != HC_OK)
            return NULL;
        if (c <= IS_TRUE)
            return evaluate(v, e->operand[c == IS_TRUE ? 1 : 2]);
        absent = c == IS_ABSENT;
    }
    for (int i = chosen; i < e->operands; i++) {
        /* A square has one operand. */
        x[i] = i > 0 && e->operand[i] == e->operand[i - 1] ? x[i - 1] : evaluate(v, e->operand[i]);
        if (!x[i])
            return NULL;
        absent = absent || x[i]->absent;
        doubtful = doubtful || (x[i]->absent && isinf(x[i]->rad));
    }
    if (absent) {
        hc_enclosure_set(&v->arithmetic, y, 0);
        y->absent = true;
        y->rad = doubtful ? (double)INFINITY : 0;
        return y;
    }
    if (chosen)
        hc_enclosure_either(&v->arithmetic, y, x[really(c) ? 1 : 2], x[really(c) ? 2 : 1]);
    else
        hc_enclosure_apply(&v->arithmetic, y, e->function, x);
    if (!e->mean)
        return y;
    int64_t terms = 1;
    for (const struct hc_expression *o = e->operand[0]; o->kind == HC_EXPRESSION_OVER;
         o = o->operand[0])
        terms *= v->instance->extent[o->axis];
    return with_welford(v, e, y, terms);
}

static const struct hc_enclosure *evaluate(struct hc_evaluator *v, const struct hc_expression *e)
{
    struct hc_enclosure *y = &v->node[e->id];
    const struct hc_enclosure *x;
    if (e->type == HC_TYPE_INTEGER) {
        int64_t value = 0;
        if (!integer(v, e, &value))
            return NULL;
        hc_enclosure_set(&v->arithmetic, y, (double)value);
        return y;
    }
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        hc_enclosure_number(&v->arithmetic, y, e->at, e->length);
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
        x = evaluate(v, e->operand[0]);
        if (!x)
            return NULL;
        hc_enclosure_store(&v->arithmetic, y, x, e->format);
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
    if (!v) {
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
