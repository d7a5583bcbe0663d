/* The statements of a program and the values of its names. */
#include "formula/evaluation.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool begin(struct hc_evaluation *e, const struct hc_block *block, int64_t step,
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
    bool done = begin(e, block, step, error);
    for (int i = 0; done && i < block->count; i++)
        done = assign(e, &block->statement[i]);
    return done ? HC_EVALUATED : evaluated(e);
}

const struct hc_value *hc_evaluation_show(struct hc_evaluation *e, const struct hc_block *block,
                                          int i, int64_t step, enum hc_evaluated *result,
                                          struct hc_formula_error *error)
{
    const struct hc_node *node = block->statement[i].value;
    struct hc_value *v = begin(e, block, step, error) ? hc_walk(e, node) : NULL;
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
