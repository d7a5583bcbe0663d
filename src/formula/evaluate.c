/* Evaluating a program: its constants, the walk over its nodes, and the names that blocks assign.
   */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula/evaluation.h"

/* Constants: exact real numbers, or as exact as the precision of the real numbers allows, with a
   radius. They have no format until they meet one. Then they are rounded once. If the radius
   leaves open to which of two numbers, that is no error, since the radius enters the bound. */

static double up(double sum)
{
    return sum == 0 ? 0 : nextafter(sum, (double)INFINITY);
}

struct hc_value *hc_integer(struct hc_evaluation *e, int64_t value)
{
    struct hc_value *v = hc_new_value(e, false, 1);
    if (!v)
        return NULL;
    v->constant = true;
    hc_real_set(v->real[0], (double)value);
    v->real_rad[0] = 0;
    return v;
}

static struct hc_value *read_number(struct hc_evaluation *e, const struct hc_node *node)
{
    struct hc_value *v = hc_integer(e, 0);
    char *text = v ? malloc((size_t)node->length + 1) : NULL;
    if (!text)
        return hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for a number"));
    size_t length = 0;
    for (int i = 0; i < node->length; i++)
        if (node->at[i] != '_')
            text[length++] = node->at[i];
    text[length] = '\0';
    bool exact = false;
    if (strcmp(text, "pi") == 0)
        hc_real_pi(v->real[0]);
    else
        (void)hc_real_read(v->real[0], text, &exact);
    /* It may be an ulp away, and not half of one (hc_real_read). */
    v->real_rad[0] = 2 * hc_real_rounding(e, v->real[0], exact);
    free(text);
    return v;
}

static struct hc_value *hc_literal(struct hc_evaluation *e, const struct hc_node *node)
{
    if (node->kind == HC_NODE_STEP)
        return hc_integer(e, e->step);
    if (e->literal[node->id])
        return e->literal[node->id];
    struct hc_value *v = read_number(e, node);
    return v ? e->literal[node->id] = hc_values_own(&e->values, v) : NULL;
}

bool hc_integer_of(struct hc_evaluation *e, const struct hc_node *node, const struct hc_value *v,
                   int64_t i, int64_t least, int64_t most, int64_t *integer)
{
    if (!v->constant)
        return hc_wrong(e, node, "this has to be a constant, and not a value that was computed");
    struct hc_real *rest = e->scratch.result;
    double nearest = nearbyint(hc_real_double(v->real[i]));
    hc_real_set(rest, nearest);
    (void)hc_real_sub(rest, v->real[i], rest);
    if (!(fabs(hc_real_double(rest)) <= v->real_rad[i]))
        return hc_wrong(e, node, "this has to be an integer, and it is %.6g",
                        hc_real_double(v->real[i]));
    if (!(nearest >= (double)least && nearest <= (double)most))
        return hc_wrong(e, node, "this has to be an integer from %lld to %lld, and it is %.17g",
                        (long long)least, (long long)most, nearest);
    *integer = (int64_t)nearest;
    return true;
}

/* tf32 is the format of no value: its numbers are fp32 numbers. */
static enum hc_format format_of_value(enum hc_format format)
{
    return format == HC_TF32 ? HC_FP32 : format;
}

static struct hc_value *round_constant(struct hc_evaluation *e, const struct hc_operation *cast,
                                       const struct hc_value *v)
{
    struct hc_value *y = hc_new_value(e, v->list, v->n);
    bool directed = cast->direction != HC_NEAREST;
    for (int64_t i = 0; y && i < v->n; i++) {
        bool exact;
        double rounded = hc_round_real(v->real[i], cast, &exact);
        y->want[i] = y->got[i] = rounded;
        y->rad[i] =
            up(v->real_rad[i] + hc_radius_rounding_in(cast->format, hc_real_double(v->real[i]),
                                                      rounded, directed, exact));
        (void)hc_real_copy(y->real[i], v->real[i]);
        y->real_rad[i] = v->real_rad[i];
        hc_note_constant(e, cast, v->real[i], rounded);
    }
    return y;
}

struct hc_value *hc_cast_value(struct hc_evaluation *e, const struct hc_operation *operation,
                               struct hc_value *v)
{
    if (!v->constant && v->format == operation->format && !operation->saturate)
        return v;
    struct hc_value *y =
        v->constant ? round_constant(e, operation, v) : hc_new_value(e, v->list, v->n);
    struct hc_operand x = {v, 0, 1};
    if (!y || (!v->constant && !hc_operate(e, operation, &x, y, 0, v->n)))
        return NULL;
    y->format = format_of_value(operation->format);
    return y;
}

struct hc_value *hc_meet(struct hc_evaluation *e, const struct hc_node *node, struct hc_value *v,
                         enum hc_format format)
{
    struct hc_operation cast = {node, HC_FN_cast, format, HC_NEAREST, true, false};
    if (!v->constant && v->format == format_of_value(format))
        return v;
    if (format != HC_FORMAT_COUNT)
        return hc_cast_value(e, &cast, v);
    cast.format = HC_FP64;
    struct hc_value *y = hc_cast_value(e, &cast, v);
    if (y)
        y->format = HC_FORMAT_COUNT;
    return y;
}

/* The walk over a program's tree: what each node computes, and in which format values meet. */

/* The format that two formats promote to, as in torch; HC_FORMAT_COUNT: there is none, since one of
   them has no arithmetic. Truths take the other's. */
static enum hc_format promote(enum hc_format a, enum hc_format b)
{
    if (a == b || b == HC_FORMAT_COUNT)
        return a;
    if (a == HC_FORMAT_COUNT)
        return b;
    if (hc_formats[a].bytes == 1 || hc_formats[b].bytes == 1)
        return HC_FORMAT_COUNT;
    return a == HC_FP64 || b == HC_FP64 ? HC_FP64 : HC_FP32;
}

void *hc_no_arithmetic(struct hc_evaluation *e, const struct hc_node *node, enum hc_format format)
{
    const char *name = hc_formats[format].name;
    return hc_wrong(e, node, "%s has no arithmetic: cast it first, fp32(x)", name);
}

bool hc_unite(struct hc_evaluation *e, const struct hc_node *node, const struct hc_node *const *of,
              struct hc_value **x, int operands)
{
    enum hc_format format = HC_FORMAT_COUNT;
    bool constant = true;
    for (int k = 0; k < operands; k++) {
        enum hc_format both = promote(format, x[k]->format);
        if (both == HC_FORMAT_COUNT && x[k]->format != HC_FORMAT_COUNT)
            return hc_no_arithmetic(e, node, hc_formats[format].bytes == 1 ? format : x[k]->format);
        format = both;
        constant &= x[k]->constant;
    }
    for (int k = 0; k < operands && !constant; k++) {
        x[k] = hc_meet(e, of[k], x[k], format);
        if (!x[k])
            return false;
    }
    return true;
}

/* The number of elements of the result: lists that meet have the same. */
static bool common_length(struct hc_evaluation *e, const struct hc_node *node,
                          struct hc_value *const *x, int operands, bool *list, int64_t *n)
{
    *list = false;
    *n = 1;
    for (int k = 0; k < operands; k++) {
        if (x[k]->list && *list && x[k]->n != *n)
            return hc_wrong(e, node, "a list of %lld elements meets one of %lld", (long long)*n,
                            (long long)x[k]->n);
        if (x[k]->list) {
            *n = x[k]->n;
            *list = true;
        }
    }
    return true;
}

/* Whether these are integers that fp64 has, and are known to be. */
static bool is_whole(const struct hc_value *v)
{
    bool whole = v->constant;
    for (int64_t i = 0; whole && i < v->n; i++) {
        double x = hc_real_double(v->real[i]);
        whole = v->real_rad[i] == 0 && x == nearbyint(x) && fabs(x) <= 0x1p53;
    }
    return whole;
}

/* Whether an index, the step or another name stands in an expression. */
static bool has_name(const struct hc_node *node)
{
    bool named = node->kind == HC_NODE_NAME || node->kind == HC_NODE_STEP;
    for (int k = 0; k < node->operands && !named; k++)
        named = has_name(node->operand[k]);
    return named;
}

/* Brings the operands of a function to the format in which it works. The condition of select stays
   as it is; but among constants alone a truth makes the others what truths are. A whole exponent of
   a value stays what it is, too: bf16 has no 1001. Constants that are compared become numbers of
   the arm: 1 + 1e-4 == 1 holds in fp16. Only whole ones with a name, such as an index, stay exact.
 */
static bool bring_together(struct hc_evaluation *e, const struct hc_node *node, struct hc_value **x)
{
    enum hc_function f = node->function;
    const struct hc_node *const *of = (const struct hc_node *const *)node->operand;
    int condition = f == HC_FN_select ? 1 : 0;
    bool needs_format =
        f == HC_FN_sqrt || (hc_functions[f].kind == HC_FUNCTION_LIBRARY && f != HC_FN_power);
    if (f == HC_FN_power && !x[0]->constant && is_whole(x[1]))
        return (x[1] = hc_meet(e, of[1], x[1], HC_FORMAT_COUNT)) != NULL;
    if (needs_format && x[0]->constant && !e->constants)
        x[0] = hc_meet(e, of[0], x[0], e->arm.arithmetic);
    bool meets = hc_functions[f].kind == HC_FUNCTION_TRUTH && node->operands == 2 &&
                 x[0]->constant && x[1]->constant && !e->constants &&
                 !(is_whole(x[0]) && is_whole(x[1]) && has_name(node));
    for (int k = 0; meets && k < 2 && x[k]; k++)
        x[k] = hc_meet(e, of[k], x[k], e->arm.arithmetic);
    if (!x[0] || !x[node->operands - 1] ||
        !hc_unite(e, node, of + condition, x + condition, node->operands - condition))
        return false;
    bool mixed = x[0]->constant != x[condition]->constant;
    for (int k = 0; mixed && k < node->operands; k++)
        if (x[k]->constant && !(x[k] = hc_meet(e, of[k], x[k], HC_FORMAT_COUNT)))
            return false;
    return true;
}

/* A function of values, element by element. */
static struct hc_value *compute(struct hc_evaluation *e, const struct hc_node *node,
                                struct hc_value **x)
{
    enum hc_function f = node->function;
    bool truth = hc_functions[f].kind == HC_FUNCTION_TRUTH;
    bool list;
    int64_t n;
    if (!bring_together(e, node, x) || !common_length(e, node, x, node->operands, &list, &n))
        return NULL;
    enum hc_format format = x[f == HC_FN_select]->format;
    bool small = format != HC_FORMAT_COUNT && hc_formats[format].bytes == 1;
    if (small && !truth && f != HC_FN_select)
        return hc_no_arithmetic(e, node, format);
    struct hc_value *y = hc_new_value(e, list, n);
    if (!y)
        return NULL;
    y->constant = x[0]->constant;
    y->format = truth ? HC_FORMAT_COUNT : format;
    format = format == HC_FORMAT_COUNT ? HC_FP64 : format;
    struct hc_operation operation = {node, f, format, HC_NEAREST, false, false};
    struct hc_operand operand[HC_MAX_OPERANDS];
    for (int k = 0; k < node->operands; k++)
        operand[k] = (struct hc_operand){x[k], 0, x[k]->list ? 1 : 0};
    return hc_operate(e, &operation, operand, y, 0, n) ? y : NULL;
}

static struct hc_value *walk_cast(struct hc_evaluation *e, const struct hc_node *node)
{
    struct hc_value *v = hc_walk(e, node->operand[0]);
    enum hc_format format = node->format;
    if (format == HC_FORMAT_COUNT) {
        format = e->arm.arithmetic;
        for (int i = 0; i < e->arm.casts; i++)
            if (strcmp(e->arm.cast[i].name, node->cast_name) == 0)
                format = e->arm.cast[i].format;
    }
    if (e->options.narrow && hc_formats[format].bytes >= hc_formats[e->arm.arithmetic].bytes)
        format = e->arm.arithmetic;
    struct hc_operation cast = {node, HC_FN_cast, format, node->direction, false, node->saturate};
    return v ? hc_cast_value(e, &cast, v) : NULL;
}

static struct hc_value *walk_apply(struct hc_evaluation *e, const struct hc_node *node)
{
    struct hc_value *x[HC_MAX_OPERANDS] = {NULL};
    enum hc_function f = node->function;
    bool of_list =
        hc_functions[f].kind == HC_FUNCTION_LIST || (hc_function_chooses(f) && node->operands == 1);
    if (of_list)
        return hc_of_list(e, node);
    if (f == HC_FN_cast)
        return walk_cast(e, node);
    if (hc_functions[f].kind == HC_FUNCTION_SCALE)
        return hc_scale_value(e, node);
    assert(node->operands >= 1);
    for (int k = 0; k < node->operands; k++) {
        x[k] = hc_walk(e, node->operand[k]);
        if (!x[k])
            return NULL;
    }
    return compute(e, node, x);
}

struct hc_value *hc_walk(struct hc_evaluation *e, const struct hc_node *node)
{
    struct hc_value *v;
    switch (node->kind) {
    case HC_NODE_NAME:
        v = e->name[node->name].read;
        return v ? v : hc_wrong(e, node, "this name has no value yet");
    case HC_NODE_LIST:
        return hc_list_of(e, node);
    case HC_NODE_AT:
        return hc_list_at(e, node);
    case HC_NODE_APPLY:
        return walk_apply(e, node);
    case HC_NODE_OVER:
        return hc_over(e, node);
    default:
        return hc_literal(e, node);
    }
}

/* The statements of a program and the values of its names. */

void *hc_wrong(struct hc_evaluation *e, const struct hc_node *node, const char *format, ...)
{
    va_list args;
    struct hc_formula_error *error = e->error;
    e->wrong = true;
    error->text = e->text;
    error->at = (int)(node->at - e->text);
    error->length = node->length > 0 ? node->length : 1;
    va_start(args, format);
    (void)vsnprintf(error->what, sizeof error->what, format, args);
    va_end(args);
    return NULL;
}

void *hc_lack(struct hc_evaluation *e, enum hc_status status)
{
    e->status = status;
    return NULL;
}

struct hc_value *hc_new_value(struct hc_evaluation *e, bool list, int64_t n)
{
    struct hc_value *v = hc_values_new(&e->values, list, n);
    if (!v)
        (void)hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for %lld values", (long long)n));
    return v;
}

static void forget(struct hc_evaluation *e, struct hc_named *named)
{
    if (named->read != named->stored)
        hc_values_drop(&e->values, named->read);
    hc_values_drop(&e->values, named->stored);
    *named = (struct hc_named){NULL, NULL};
}

/* The value of a statement with =: rounded to the arm's storage, if it has one, and as it is read
   back. */
static bool store(struct hc_evaluation *e, const struct hc_node *node, struct hc_value *v,
                  struct hc_named *named)
{
    if (v->format == HC_FORMAT_COUNT)
        v = hc_meet(e, node, v, e->arm.arithmetic);
    bool stores = e->arm.storage != e->arm.arithmetic;
    struct hc_operation cast = {node, HC_FN_cast, e->arm.storage, HC_NEAREST, true, false};
    if (v && stores)
        v = hc_cast_value(e, &cast, v);
    struct hc_value *read = v && stores ? hc_meet(e, node, v, e->arm.arithmetic) : v;
    if (!v || !read)
        return false;
    named->stored = hc_values_own(&e->values, v);
    named->read = read == v ? named->stored : hc_values_own(&e->values, read);
    if (!named->stored || !named->read)
        return hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for a value"));
    return true;
}

static bool assign(struct hc_evaluation *e, const struct hc_statement *statement)
{
    struct hc_named *name = &e->name[statement->name];
    struct hc_named named = {NULL, NULL};
    e->constants = statement->constant;
    struct hc_value *v = hc_walk(e, statement->value);
    e->constants = false;
    if (v && statement->constant && !v->constant)
        return hc_wrong(e, statement->value, "a constant is made of numbers and constants: use =");
    if (v && statement->constant) {
        named.stored = named.read = hc_values_own(&e->values, v);
        v = named.read ? v : hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for a constant"));
    } else if (v && !store(e, statement->value, v, &named)) {
        v = NULL;
    }
    if (v && !statement->constant && name->stored)
        hc_note_format(e, statement->value, statement->name, name->stored->format,
                       named.stored->format);
    if (v) {
        forget(e, name);
        *name = named;
    }
    hc_values_release(&e->values, 0, NULL);
    return v != NULL;
}

/* Room for what is noted about nodes: blocks may have been added since the last run. */
static bool make_room(struct hc_evaluation *e)
{
    int nodes = hc_program_nodes(e->program);
    if (nodes <= e->nodes)
        return true;
    size_t count = (size_t)nodes;
    size_t before = (size_t)e->nodes;
    struct hc_value **literal = realloc(e->literal, count * sizeof(struct hc_value *));
    e->literal = literal ? literal : e->literal;
    int *event_of = realloc(e->event_of, count * HC_EVENT_KIND_COUNT * sizeof *event_of);
    e->event_of = event_of ? event_of : e->event_of;
    if (!literal || !event_of)
        return hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for %d nodes", nodes));
    memset(literal + before, 0, (count - before) * sizeof(struct hc_value *));
    memset(event_of + before * HC_EVENT_KIND_COUNT, 0,
           (count - before) * HC_EVENT_KIND_COUNT * sizeof *event_of);
    e->nodes = nodes;
    return true;
}

static bool begin_block(struct hc_evaluation *e, const struct hc_block *block, int64_t step,
                        struct hc_formula_error *error)
{
    hc_values_release(&e->values, 0, NULL);
    e->wrong = false;
    e->status = HC_OK;
    e->step = step;
    e->terms = 0;
    e->text = block->text;
    e->error = error;
    return make_room(e);
}

static enum hc_evaluated evaluated(const struct hc_evaluation *e)
{
    return e->wrong ? HC_EVALUATED_WRONGLY : HC_EVALUATED_FAILED;
}

enum hc_evaluated hc_evaluation_run(struct hc_evaluation *e, const struct hc_block *block,
                                    int64_t step, struct hc_formula_error *error)
{
    bool done = begin_block(e, block, step, error);
    for (int i = 0; done && i < block->count; i++)
        done = assign(e, &block->statement[i]);
    return done ? HC_EVALUATED : evaluated(e);
}

const struct hc_value *hc_evaluation_show(struct hc_evaluation *e, const struct hc_block *block,
                                          int i, int64_t step, enum hc_evaluated *result,
                                          struct hc_formula_error *error)
{
    const struct hc_node *node = block->statement[i].value;
    struct hc_value *v = begin_block(e, block, step, error) ? hc_walk(e, node) : NULL;
    if (v && node->kind == HC_NODE_NAME && e->name[node->name].read == v)
        v = e->name[node->name].stored;
    if (v && v->constant)
        v = hc_meet(e, node, v, e->arm.arithmetic);
    *result = v ? HC_EVALUATED : evaluated(e);
    return v;
}

const struct hc_value *hc_evaluation_value(const struct hc_evaluation *e, int name)
{
    return e->name[name].stored;
}

enum hc_status hc_evaluation_status(const struct hc_evaluation *e)
{
    return e->status;
}

const struct hc_evaluation_difference *hc_evaluation_difference(const struct hc_evaluation *e)
{
    return &e->difference;
}

int hc_evaluation_events(const struct hc_evaluation *e, const struct hc_event **events)
{
    *events = e->event;
    return e->events;
}

struct hc_evaluation *hc_evaluation_open(const struct hc_program *program, const struct hc_arm *arm,
                                         const struct hc_evaluation_options *options)
{
    struct hc_evaluation *e = calloc(1, sizeof *e);
    if (!e) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for an evaluation");
        return NULL;
    }
    e->program = program;
    e->arm = *arm;
    e->options = *options;
    e->values.precision = options->precision ? options->precision : HC_REFERENCE_PRECISION;
    e->values.got = options->call != NULL;
    e->real_unit = ldexp(1, (int)-e->values.precision);
    for (int k = 0; k < HC_MAX_OPERANDS; k++)
        e->scratch.operand[k] = hc_real_new_bits(0, 64);
    e->scratch.result = hc_real_new_bits(0, HC_REFERENCE_PRECISION);
    e->scratch.narrow_sum = hc_real_new_bits(0, HC_NARROW_SUM_BITS);
    e->scratch.fp64_sum = hc_real_new_bits(0, HC_FP64_SUM_BITS);
    e->scratch.zero = hc_real_new_bits(0, 64);
    e->scratch.one = hc_real_new_bits(1, 64);
    return e;
}

void hc_evaluation_close(struct hc_evaluation *e)
{
    if (!e)
        return;
    for (int i = 0; i < HC_MAX_NAMES; i++)
        forget(e, &e->name[i]);
    for (int i = 0; i < e->nodes; i++)
        hc_values_drop(&e->values, e->literal[i]);
    hc_values_close(&e->values);
    for (int k = 0; k < HC_MAX_OPERANDS; k++)
        hc_real_free(e->scratch.operand[k]);
    hc_real_free(e->scratch.result);
    hc_real_free(e->scratch.narrow_sum);
    hc_real_free(e->scratch.fp64_sum);
    hc_real_free(e->scratch.zero);
    hc_real_free(e->scratch.one);
    for (int k = 0; k <= HC_MAX_OPERANDS; k++)
        free(e->scratch.memory[k]);
    free(e->literal);
    free(e->event_of);
    free(e->event);
    free(e);
}
