#include "define/op.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/library.h"
#include "define/plain.h"
#include "define/value.h"
#include "op/later.h"
#include "op/params.h"
#include "reference.h"

static const char *text_of(enum hc_op op)
{
    const char *text = hc_library_find(hc_ops[op].name);
    assert(text); /* an op of class DEFINED has the name of a definition: op_test.c */
    return text;
}

/* Definitions are read under a lock, and never change after. */
const struct hc_definition *hc_defined_op(enum hc_op op)
{
    static struct hc_definition *read[HC_OP_ROOM];
    struct hc_definition *d = NULL;
    if (hc_ops[op].class_ != HC_CLASS_DEFINED)
        return NULL;
#pragma omp critical(hc_defined_op)
    {
        struct hc_formula_error error;
        if (!read[op])
            read[op] = hc_definition_read(text_of(op), &error);
        d = read[op];
    }
    return d;
}

/* A call, which the promise stands for, as an instance of its definition. */
struct met {
    uint64_t promise;
    struct hc_instance instance;
    char option[HC_MAX_DEFINED_OPTIONS][HC_PARAM_TEXT];
    struct hc_evaluator *evaluator;
    int out; /* the last element that was asked for, since a bound follows its reference */
    int64_t index;
    struct hc_defined_value value;
};

static _Thread_local struct met *kept;

/* The extent of an axis that only a result has, as the option k of its definition says: its place
   is the result's shape. Whether there is one. */
static bool extent_of(const struct hc_definition *d, const struct hc_call *call, int k,
                      char text[HC_PARAM_TEXT])
{
    for (int o = 0; o < d->results; o++) {
        const struct hc_defined_tensor *t = &d->tensor[d->result[o]];
        for (int i = 0; i < t->rank; i++) {
            const struct hc_expression *extent = d->axis[t->axis[i]].extent;
            if (!extent || extent->kind != HC_EXPRESSION_OPTION || extent->option != k)
                continue;
            (void)snprintf(text, HC_PARAM_TEXT, "%lld", (long long)call->out[o].shape[i]);
            return true;
        }
    }
    return false;
}

/* The call's inputs are the definition's, in order (op_test.c), and so are the options, but for
   those that are extents. A NaN stands for what the text says. */
static enum hc_status bind(struct met *m, const struct hc_call *call)
{
    const struct hc_definition *d = hc_defined_op(call->op);
    struct hc_instance *in = &m->instance;
    const struct hc_param *p = hc_op_params(call->op);
    *m = (struct met){.promise = hc_reference_promise(call), .index = -1};
    if (!d)
        return HC_NO_MEMORY;
    *in = (struct hc_instance){.definition = d, .io = call->in[HC_FIRST].format};
    in->freedoms = hc_usual_freedoms;
    in->freedoms.compute = hc_call_fp64(call) ? HC_FP64 : HC_FP32;
    for (int i = 0; i < d->inputs; i++)
        in->input[i] = call->in[i];
    for (int i = 0; i < d->options; i++) {
        if (!extent_of(d, call, i, m->option[i]))
            hc_param_text(p++, &call->params, m->option[i]);
        in->option[i] = strcmp(m->option[i], "nan") == 0 ? NULL : m->option[i];
    }
    return hc_instance_bind(in);
}

static enum hc_status meet(struct met *m, const struct hc_call *call)
{
    enum hc_status status = bind(m, call);
    if (status == HC_OK)
        m->evaluator = hc_evaluator_new(&m->instance);
    return m->evaluator ? HC_OK : status == HC_OK ? HC_NO_MEMORY : status;
}

enum hc_status hc_defined_op_plainly(const struct hc_call *call, enum hc_plainly how,
                                     const struct hc_tensor *out)
{
    struct met m;
    enum hc_status status = bind(&m, call);
    m.instance.eager = how == HC_PLAINLY_EAGER;
    if (how == HC_PLAINLY_FP64) {
        m.instance.io = HC_FP64;
        m.instance.freedoms.compute = HC_FP64;
    }
    return status == HC_OK ? hc_define_plain(&m.instance, out, NULL) : status;
}

static void part(struct met *m)
{
    hc_evaluator_free(m->evaluator);
    m->evaluator = NULL;
}

void hc_reference_defined_end(void)
{
    if (kept)
        part(kept);
    free(kept);
    kept = NULL;
}

/* What is kept is right as long as nobody has broken or renewed the promise. */
static struct met *met_with(const struct hc_call *call)
{
    uint64_t promise = hc_reference_promise(call);
    if (!kept)
        kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    if (kept->evaluator && promise != 0 && kept->promise == promise)
        return kept;
    part(kept);
    return meet(kept, call) == HC_OK ? kept : NULL;
}

static struct hc_defined_value value_of(const struct hc_element *e)
{
    struct hc_defined_value value = {.want = {.hi = (double)NAN}};
    enum hc_status status = HC_NO_MEMORY;
    /* Once more with nothing kept, of which there may have been too much. */
    for (int tries = 0; tries < 2 && status != HC_OK; tries++) {
        struct met *m = met_with(e->call);
        if (!m)
            break;
        if (m->out == e->out && m->index == e->index)
            return m->value;
        int tensor = m->instance.definition->result[e->out];
        status = hc_evaluator_element(m->evaluator, tensor, e->index, &value);
        m->out = e->out;
        m->index = e->index;
        m->value = value;
        if (status != HC_OK)
            part(m);
    }
    if (status != HC_OK)
        value = (struct hc_defined_value){.want = {.hi = (double)NAN}};
    if (kept && hc_reference_promise(e->call) == 0)
        hc_reference_defined_end();
    return value;
}

void hc_reference_defined(const struct hc_element *e, long precision, struct hc_exact *want)
{
    (void)precision;
    *want = value_of(e).want;
}

double hc_defined_op_radius(const struct hc_element *e)
{
    return value_of(e).rad;
}

/* Whether the expression asks for the axis in another way than as a tensor's own. */
static bool asks_for(const struct hc_definition *d, const struct hc_expression *e, int axis)
{
    bool reads = e->kind == HC_EXPRESSION_READ;
    const struct hc_defined_tensor *t = reads ? &d->tensor[e->tensor] : NULL;
    for (int k = 0; k < e->operands; k++) {
        bool plain = e->operand[k]->kind == HC_EXPRESSION_AXIS;
        if (reads ? !plain && t->axis[k] == axis : plain && e->operand[k]->axis == axis)
            return true;
    }
    return false;
}

bool hc_defined_is_placeless(enum hc_op op, char letter)
{
    const struct hc_definition *d = hc_defined_op(op);
    int axis = 0;
    while (d && axis < d->axes && toupper((unsigned char)d->axis[axis].name[0]) != letter)
        axis++;
    for (int i = 0; d && i < d->expressions; i++)
        if (asks_for(d, d->expression[i], axis))
            return false;
    return d && axis < d->axes;
}

bool hc_defined_has_shift(enum hc_op op)
{
    const struct hc_definition *d = hc_defined_op(op);
    bool shift = false;
    for (int i = 0; d && i < d->tensors; i++)
        shift = shift || d->tensor[i].shift;
    return shift;
}
