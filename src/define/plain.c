#include "define/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "define/tape.h"

/* A number, or the absence of one. */
struct number {
    double x;
    bool absent;
    int32_t step; /* of the tape, where one is kept; 0: it depends on no input */
};

enum truth { IS_FALSE, IS_TRUE, IS_ABSENT };

struct plain {
    const struct hc_instance *instance;
    const struct hc_definition *definition;
    struct number *element[HC_MAX_DEFINED_TENSORS]; /* of equations */
    int64_t place[HC_MAX_AXES];
    enum hc_format compute;
    bool beside;
    const char *wrong;    /* a sentence, where an index has no value */
    struct hc_tape *tape; /* of what is computed; or NULL */
    struct constant {
        bool known;
        double x;
    } constant[HC_MAX_DEFINED_OPTIONS], *number; /* options, and numbers of the text by their id */
};

static struct number evaluate(struct plain *p, const struct hc_expression *e);
static enum truth is_true(struct plain *p, const struct hc_expression *e);

static const struct number nothing = {0, true, 0};

static double rounded(const struct plain *p, double x)
{
    return p->compute == HC_FP32 ? (double)(float)x : x;
}

static struct number number(double x)
{
    return (struct number){x, false, 0};
}

/* y as a function of up to three numbers, on the tape. */
static struct number noted(struct plain *p, const struct hc_expression *e, enum hc_function f,
                           const struct number *x, int count, double y)
{
    struct number result = number(y);
    struct hc_tape_step step = {.expression = e->id, .function = f, .value = y};
    for (int i = 0; i < count; i++) {
        step.of[i] = x[i].step;
        step.operand[i] = x[i].x;
    }
    if (p->tape && (step.of[0] || step.of[1] || step.of[2]))
        result.step = hc_tape_add(p->tape, &step);
    return result;
}

static bool integer(struct plain *p, const struct hc_expression *e, int64_t *value);

/* The number of the element that is read, or -1 beside the tensor. */
static int64_t index_of(struct plain *p, const struct hc_expression *e, const int64_t *shape)
{
    int64_t index = 0;
    bool inside = true;
    for (int i = 0; i < e->operands; i++) {
        int64_t at = 0;
        if (!integer(p, e->operand[i], &at))
            return -1;
        inside = inside && at >= 0 && at < shape[i];
        index = index * shape[i] + at;
    }
    return inside ? index : -1;
}

/* The place of the largest number, the first of equal ones; -1 where none is there. */
static int64_t argmax(struct plain *p, const struct hc_expression *e)
{
    int64_t outside = p->place[e->axis];
    int64_t place = -1;
    double best = 0;
    for (int64_t i = 0; i < p->instance->extent[e->axis] && !p->wrong; i++) {
        p->place[e->axis] = i;
        if (e->operands > 1 && is_true(p, e->operand[1]) != IS_TRUE)
            continue;
        struct number x = evaluate(p, e->operand[0]);
        if (x.absent || (place >= 0 && !(x.x > best)))
            continue;
        best = x.x;
        place = i;
    }
    p->place[e->axis] = outside;
    return place;
}

/* Integers that depend on the element: indices that are read, and what is selected. */
static bool integer_here(void *context, const struct hc_expression *e, int64_t *value)
{
    struct plain *p = context;
    if (e->kind == HC_EXPRESSION_READ) {
        const struct hc_tensor *t = &p->instance->input[e->tensor];
        int64_t index = index_of(p, e, t->shape);
        *value = index < 0 ? 0 : (int64_t)hc_tensor_get(t, index);
        return !p->wrong;
    }
    if (e->kind == HC_EXPRESSION_OVER) {
        *value = argmax(p, e);
        return !p->wrong;
    }
    enum truth c = is_true(p, e->operand[0]);
    return c != IS_ABSENT && integer(p, e->operand[c == IS_TRUE ? 1 : 2], value);
}

static bool integer(struct plain *p, const struct hc_expression *e, int64_t *value)
{
    if (e->kind == HC_EXPRESSION_AXIS) { /* as nearly all are */
        *value = p->place[e->axis];
        return true;
    }
    struct hc_integers integers = {p->instance, p->place, integer_here, p, NULL};
    bool has = hc_integer_value(&integers, e, value);
    if (integers.wrong)
        p->wrong = integers.wrong;
    return has;
}

static enum truth truth_of(bool b)
{
    return b ? IS_TRUE : IS_FALSE;
}

static bool holds(enum hc_function f, double a, double b)
{
    switch ((int)f) {
    case HC_FN_less:
        return a < b;
    case HC_FN_less_equal:
        return a <= b;
    case HC_FN_greater:
        return a > b;
    case HC_FN_greater_equal:
        return a >= b;
    case HC_FN_equal:
        return a == b;
    case HC_FN_not_equal:
        return a != b;
    case HC_FN_isnan:
        return isnan(a);
    case HC_FN_isinf:
        return isinf(a);
    default:
        return isfinite(a);
    }
}

/* Integers below 2^53 are compared exactly as numbers, too, and no index is larger in a call whose
   tensors have memory. */
static enum truth compare(struct plain *p, const struct hc_expression *e)
{
    struct number x[3] = {{0, false, 0}, {0, false, 0}, {0, false, 0}};
    for (int i = 0; i < e->operands; i++) {
        x[i] = evaluate(p, e->operand[i]);
        if (x[i].absent)
            return IS_ABSENT;
    }
    (void)noted(p, e, HC_FN_sub, x, e->operands, x[0].x - x[1].x);
    return truth_of(holds(e->function, x[0].x, x[1].x));
}

/* Of how many places the condition and the body are true, and of how many they are there. */
static void count(struct plain *p, const struct hc_expression *e, int64_t *held, int64_t *places)
{
    int64_t outside = p->place[e->axis];
    *held = *places = 0;
    for (int64_t i = 0; i < p->instance->extent[e->axis]; i++) {
        p->place[e->axis] = i;
        if (e->operands > 1 && is_true(p, e->operand[1]) != IS_TRUE)
            continue;
        enum truth body = is_true(p, e->operand[0]);
        *places += body != IS_ABSENT;
        *held += body == IS_TRUE;
    }
    p->place[e->axis] = outside;
}

static enum truth is_true(struct plain *p, const struct hc_expression *e)
{
    int64_t held;
    int64_t places;
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        return truth_of(*e->at == 't');
    case HC_EXPRESSION_OPTION: {
        const char *text = p->instance->option[e->option];
        return text ? truth_of(*text == 't') : is_true(p, p->definition->option[e->option].value);
    }
    case HC_EXPRESSION_NOT: {
        enum truth a = is_true(p, e->operand[0]);
        return a == IS_ABSENT ? a : truth_of(a == IS_FALSE);
    }
    case HC_EXPRESSION_AND:
    case HC_EXPRESSION_OR: {
        enum truth decides = truth_of(e->kind == HC_EXPRESSION_OR);
        enum truth a = is_true(p, e->operand[0]);
        return a == decides || a == IS_ABSENT ? a : is_true(p, e->operand[1]);
    }
    case HC_EXPRESSION_OVER:
        count(p, e, &held, &places);
        return truth_of(e->reduction == HC_OVER_ANY ? held > 0 : held == places);
    default:
        return compare(p, e);
    }
}

/* A number of the text or of the command line. */
static double literal(const struct plain *p, const char *text, int length)
{
    char copy[64];
    if (length == 2 && strncmp(text, "pi", 2) == 0)
        return rounded(p, 3.14159265358979323846);
    size_t n = (size_t)length < sizeof copy ? (size_t)length : sizeof copy - 1;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return rounded(p, strtod(copy, NULL));
}

static struct number option(struct plain *p, int i)
{
    /* Within another one's default it has more digits. */
    bool usual = p->compute == p->instance->freedoms.compute;
    const char *text = p->instance->option[i];
    struct number x;
    if (usual && p->constant[i].known)
        return number(p->constant[i].x);
    if (text) {
        x = number(literal(p, text, (int)strlen(text)));
    } else {
        /* A default is computed beforehand, and comes in its format. */
        enum hc_format compute = p->compute;
        p->compute = HC_FP64;
        x = evaluate(p, p->definition->option[i].value);
        p->compute = compute;
        x.x = rounded(p, x.x);
    }
    if (usual)
        p->constant[i] = (struct constant){true, x.x};
    return x;
}

static struct number read(struct plain *p, const struct hc_expression *e)
{
    const struct hc_defined_tensor *t = &p->definition->tensor[e->tensor];
    int64_t shape[HC_MAX_RANK] = {0};
    for (int i = 0; i < t->rank; i++)
        shape[i] =
            t->input ? p->instance->input[e->tensor].shape[i] : p->instance->extent[t->axis[i]];
    int64_t index = index_of(p, e, shape);
    if (p->wrong)
        return nothing;
    if (t->input) {
        const struct hc_tensor *input = &p->instance->input[e->tensor];
        struct number x = number(index < 0 ? 0 : hc_tensor_get(input, index));
        if (p->tape && index >= 0 && !t->index)
            x.step = hc_tape_input(p->tape, e->tensor, index, x.x);
        return x;
    }
    if (index >= 0)
        return p->element[e->tensor][index];
    /* What a scan starts from is read at the places of its other axes. */
    int64_t outside[HC_MAX_AXES];
    bool start = false;
    memcpy(outside, p->place, sizeof outside);
    for (int i = 0; i < t->rank; i++) {
        int64_t at = 0;
        (void)integer(p, e->operand[i], &at);
        start = start || (t->axis[i] == t->scan && at == -1);
        p->place[t->axis[i]] = at;
    }
    p->beside = p->beside || !start || !t->before;
    struct number x = start && t->before ? evaluate(p, t->before) : number(0);
    memcpy(p->place, outside, sizeof outside);
    return x;
}

/* Of two numbers of which one is a NaN, the NaN. */
static double extreme(bool largest, double a, double b)
{
    if (isnan(a) || isnan(b))
        return a + b;
    return (a > b) == largest ? a : b;
}

/* One more term of a reduction. */
static double join(const struct plain *p, enum hc_reduction reduction, double so_far, double x)
{
    if (reduction == HC_OVER_MAX || reduction == HC_OVER_MIN)
        return extreme(reduction == HC_OVER_MAX, so_far, x);
    return rounded(p, reduction == HC_OVER_PROD ? so_far * x : so_far + x);
}

/* A sum in pairs: those of as many terms are added up as soon as there are two of them. */
struct pairs {
    double sum[64];
    int64_t terms[64];
    int count;
};

static void add_last_two(const struct plain *p, struct pairs *s)
{
    s->count--;
    s->sum[s->count - 1] = rounded(p, s->sum[s->count - 1] + s->sum[s->count]);
    s->terms[s->count - 1] += s->terms[s->count];
}

static void add_term(const struct plain *p, struct pairs *s, double x)
{
    s->sum[s->count] = x;
    s->terms[s->count++] = 1;
    while (s->count > 1 && s->terms[s->count - 2] == s->terms[s->count - 1])
        add_last_two(p, s);
}

static double end_of_pairs(const struct plain *p, struct pairs *s)
{
    while (s->count > 1)
        add_last_two(p, s);
    return s->count ? s->sum[0] : 0;
}

/* The same on the tape: a term that is not chosen changes nothing. */
static struct number join_on_tape(struct plain *p, const struct hc_expression *e, bool first,
                                  struct number so_far, struct number x, double y)
{
    static const enum hc_function join_by[HC_REDUCTIONS] = {[HC_OVER_SUM] = HC_FN_add,
                                                            [HC_OVER_MEAN] = HC_FN_add,
                                                            [HC_OVER_PROD] = HC_FN_mul,
                                                            [HC_OVER_MAX] = HC_FN_max,
                                                            [HC_OVER_MIN] = HC_FN_min};
    struct number of[2] = {so_far, x};
    if (first)
        return x;
    struct number joined = noted(p, e, join_by[e->reduction], of, 2, y);
    if (joined.step)
        hc_tape_mark_partial(p->tape, joined.step);
    return joined;
}

static struct number over(struct plain *p, const struct hc_expression *e)
{
    static const double first[HC_REDUCTIONS] = {
        [HC_OVER_PROD] = 1, [HC_OVER_MAX] = -(double)INFINITY, [HC_OVER_MIN] = (double)INFINITY};
    int64_t outside = p->place[e->axis];
    int64_t terms = 0;
    double y = first[e->reduction];
    struct number so_far = nothing;
    bool sums = e->reduction == HC_OVER_SUM || e->reduction == HC_OVER_MEAN;
    bool in_pairs = sums && p->instance->freedoms.order != HC_SUMS_ANY;
    struct pairs pairs = {.count = 0};
    if (e->reduction == HC_OVER_COUNT) {
        int64_t held;
        count(p, e, &held, &terms);
        return number((double)held);
    }
    for (int64_t i = 0; i < p->instance->extent[e->axis] && !p->wrong; i++) {
        p->place[e->axis] = i;
        if (e->operands > 1 && is_true(p, e->operand[1]) != IS_TRUE)
            continue;
        struct number x = evaluate(p, e->operand[0]);
        if (x.absent)
            continue;
        if (in_pairs)
            add_term(p, &pairs, x.x);
        y = terms++ == 0 ? x.x : join(p, e->reduction, y, x.x);
        so_far = p->tape ? join_on_tape(p, e, terms == 1, so_far, x, y) : so_far;
    }
    if (in_pairs)
        y = end_of_pairs(p, &pairs);
    p->place[e->axis] = outside;
    if (e->reduction == HC_OVER_MEAN)
        y = rounded(p, y / (double)terms);
    if (!p->tape || terms == 0)
        return number(y);
    struct number of[2] = {so_far, number((double)terms)};
    bool mean = e->reduction == HC_OVER_MEAN;
    return noted(p, e, mean ? HC_FN_div : HC_FN_add, of, mean ? 2 : 1, y);
}

double hc_plain_function(enum hc_format compute, enum hc_function f, const double *x)
{
    switch ((int)f) {
    case HC_FN_add:
        return x[0] + x[1];
    case HC_FN_sub:
        return x[0] - x[1];
    case HC_FN_mul:
        return x[0] * x[1];
    case HC_FN_div:
        return x[0] / x[1];
    case HC_FN_fma:
        return compute == HC_FP32 ? (double)fmaf((float)x[0], (float)x[1], (float)x[2])
                                  : fma(x[0], x[1], x[2]);
    case HC_FN_sqrt:
        return sqrt(x[0]);
    case HC_FN_exp:
        return exp(x[0]);
    case HC_FN_log:
        return log(x[0]);
    case HC_FN_log1p:
        return log1p(x[0]);
    case HC_FN_tanh:
        return tanh(x[0]);
    case HC_FN_cos:
        return cos(x[0]);
    case HC_FN_sin:
        return sin(x[0]);
    case HC_FN_erf:
        return erf(x[0]);
    case HC_FN_negate:
        return -x[0];
    case HC_FN_abs:
        return fabs(x[0]);
    case HC_FN_floor:
        return floor(x[0]);
    default:
        return extreme(f == HC_FN_max, x[0], x[1]);
    }
}

static struct number apply(struct plain *p, const struct hc_expression *e)
{
    double x[HC_MAX_EXPRESSION_OPERANDS] = {0};
    struct number of[HC_MAX_EXPRESSION_OPERANDS] = {{0, false, 0}};
    if (e->function == HC_FN_select) {
        enum truth c = is_true(p, e->operand[0]);
        return c == IS_ABSENT ? nothing : evaluate(p, e->operand[c == IS_TRUE ? 1 : 2]);
    }
    for (int i = 0; i < e->operands; i++) {
        of[i] = evaluate(p, e->operand[i]);
        if (of[i].absent)
            return nothing;
        x[i] = of[i].x;
    }
    return noted(p, e, e->function, of, e->operands,
                 rounded(p, hc_plain_function(p->compute, e->function, x)));
}

static struct number evaluate(struct plain *p, const struct hc_expression *e)
{
    struct number x;
    int64_t value = 0;
    if (e->type == HC_TYPE_INTEGER)
        return integer(p, e, &value) ? number((double)value) : nothing;
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        if (!p->number[e->id].known)
            p->number[e->id] = (struct constant){true, literal(p, e->at, e->length)};
        return number(p->number[e->id].x);
    case HC_EXPRESSION_OPTION:
        return option(p, e->option);
    case HC_EXPRESSION_READ:
        return read(p, e);
    case HC_EXPRESSION_OVER:
        return over(p, e);
    case HC_EXPRESSION_EITHER: /* any number between the two is right */
        x = evaluate(p, e->operand[0]);
        return evaluate(p, e->operand[1]).absent ? nothing : x;
    case HC_EXPRESSION_STORE:
        x = evaluate(p, e->operand[0]);
        x.x = hc_round(e->format == HC_FORMAT_COUNT ? p->instance->io : e->format, x.x);
        return x;
    default:
        return apply(p, e);
    }
}

/* All elements of an equation's tensor, the last axis the fastest: a scan finds its element before
   in place. */
static enum hc_status compute(struct plain *p, int tensor)
{
    const struct hc_defined_tensor *t = &p->definition->tensor[tensor];
    int64_t n = hc_instance_count(p->instance, tensor);
    p->element[tensor] = calloc((size_t)(n > 0 ? n : 1), sizeof *p->element[tensor]);
    if (!p->element[tensor])
        return hc_fail(HC_NO_MEMORY, "no memory for %lld elements of %s", (long long)n, t->name);
    for (int64_t i = 0; i < n && !p->wrong; i++) {
        int64_t rest = i;
        for (int k = t->rank - 1; k >= 0; k--) {
            int64_t extent = p->instance->extent[t->axis[k]];
            p->place[t->axis[k]] = rest % extent;
            rest /= extent;
        }
        bool there = !t->where || is_true(p, t->where) == IS_TRUE;
        p->element[tensor][i] = there ? evaluate(p, t->value) : nothing;
        if (p->instance->eager && t->format == HC_FORMAT_COUNT)
            p->element[tensor][i].x = hc_round(p->instance->io, p->element[tensor][i].x);
    }
    return p->wrong ? hc_fail(HC_INVALID, "%s: %s", p->definition->name, p->wrong) : HC_OK;
}

static enum hc_status computed(const struct hc_instance *instance, const struct hc_tensor *out,
                               struct hc_plain_notes *notes, struct hc_tape *tape)
{
    const struct hc_definition *d = instance->definition;
    enum hc_status status = HC_OK;
    struct plain *p = calloc(1, sizeof *p);
    if (p)
        p->number = calloc((size_t)d->expressions, sizeof *p->number);
    if (!p || !p->number) {
        free(p);
        return hc_fail(HC_NO_MEMORY, "no memory to compute a definition");
    }
    p->instance = instance;
    p->definition = d;
    p->compute = instance->freedoms.compute;
    p->tape = tape;
    for (int t = d->inputs; t < d->tensors && status == HC_OK; t++)
        status = compute(p, t);
    for (int i = 0; i < d->results && status == HC_OK && out; i++)
        for (int64_t k = 0; k < hc_tensor_count(&out[i]); k++) {
            struct number x = p->element[d->result[i]][k];
            hc_tensor_set(&out[i], k, x.absent ? 0 : x.x);
        }
    if (notes)
        notes->beside = p->beside;
    for (int t = 0; t < d->tensors; t++)
        free(p->element[t]);
    free(p->number);
    free(p);
    return status;
}

enum hc_status hc_define_plain(const struct hc_instance *instance, const struct hc_tensor *out,
                               struct hc_plain_notes *notes)
{
    return computed(instance, out, notes, NULL);
}

enum hc_status hc_define_on_tape(const struct hc_instance *instance, struct hc_tape *tape)
{
    hc_tape_clear(tape);
    return computed(instance, NULL, NULL, tape);
}
