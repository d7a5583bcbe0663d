/* The backward that a text writes, held to the one that is derived. Both gradients are functions of
   the inputs and of the gradients of the results: the derived one by its text, and the written one
   where the forward equations stand above its own, so that what is given is what they compute.
   Their real numbers are compared. */
#include "define/gradient/adjoint.h"

#include <math.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/draw.h"
#include "define/pieces.h"

/* Forward equations have this before their names, so that a backward may use the same ones; what is
   given keeps its name. */
static const char apart[] = "forward_";

struct proof {
    const struct hc_definition *forward;
    struct hc_definition *alone;   /* the backward as its text is */
    struct hc_definition *written; /* with the forward equations */
    struct hc_definition *derived;
    struct hc_instance by_text;
    struct hc_instance by_rule;
};

static void put(struct hc_pieces *p, const char *text)
{
    hc_pieces_put(p, text, (int)strlen(text));
}

/* An equation of the forward pass, under the names that it has there. */
static void put_forward(struct hc_pieces *p, const struct proof *q, const char *at, int length)
{
    const char *end = at + length;
    while (at < end) {
        struct hc_token token = hc_token_at(at);
        char name[HC_LONGEST_DEFINED_NAME + 1] = "";
        if (token.at >= end)
            break;
        hc_pieces_put(p, at, (int)(token.at - at));
        if (token.kind == HC_TOKEN_NAME && token.length <= HC_LONGEST_DEFINED_NAME)
            (void)snprintf(name, sizeof name, "%.*s", token.length, token.at);
        if (hc_definition_tensor(q->forward, name) >= q->forward->inputs &&
            hc_definition_tensor(q->alone, name) < 0)
            put(p, apart);
        else if (hc_definition_tensor(q->forward, name) >= q->forward->inputs &&
                 !q->alone->tensor[hc_definition_tensor(q->alone, name)].input)
            put(p, apart);
        hc_pieces_put(p, token.at, token.length);
        at = token.at + token.length;
    }
    put(p, "\n");
}

static void put_input(struct hc_pieces *p, const struct hc_definition *d, int tensor, bool first)
{
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    put(p, first ? "" : ", ");
    put(p, t->name);
    for (int i = 0; i < t->rank; i++) {
        put(p, i ? ", " : "[");
        put(p, d->axis[t->axis[i]].name);
    }
    put(p, t->rank ? "]" : "");
    if (t->index) {
        put(p, ": index ");
        put(p, t->index_axis >= 0 ? d->axis[t->index_axis].name : "");
    }
}

/* The inputs and gradients of the derived one, the forward equations, and the written ones. */
static enum hc_status compose(struct proof *q)
{
    struct hc_pieces p = {.text = NULL};
    struct hc_formula_error error;
    const struct hc_definition *d = q->forward;
    assert(q->derived); /* whoever composes has derived it */
    put(&p, "op written(");
    for (int i = 0; i < d->inputs; i++)
        put_input(&p, d, i, i == 0);
    for (int i = 0; i < q->derived->inputs; i++)
        if (hc_definition_tensor(d, q->derived->tensor[i].name) < 0)
            put_input(&p, q->derived, i, false);
    for (int i = 0; i < d->options; i++) {
        put(&p, i ? ", " : "; ");
        put(&p, d->option[i].name);
        put(&p, " = ");
        hc_pieces_put(&p, d->option[i].value->at, d->option[i].value->length);
    }
    put(&p, ")\n");
    for (int i = 0; i < d->axes; i++)
        if (d->axis[i].extent) {
            put(&p, "axis ");
            put(&p, d->axis[i].name);
            put(&p, " = ");
            hc_pieces_put(&p, d->axis[i].extent->at, d->axis[i].extent->length);
            put(&p, "\n");
        }
    for (int t = d->inputs; t < d->tensors; t++)
        put_forward(&p, q, d->tensor[t].at, d->tensor[t].length);
    put(&p, hc_statement_end(d->backward));
    if (!p.failed)
        q->written = hc_definition_read_made(p.text, &error);
    enum hc_status status = HC_OK;
    if (!q->written)
        status = hc_fail(HC_INVALID, "backward of %s: %s", d->name, error.what);
    hc_pieces_free(&p);
    return status;
}

static int64_t small_extent(int i)
{
    static const int64_t extents[] = {2, 3, 4, 5};
    return extents[i % 4];
}

/* Draws the inputs of one, and gives the other those of the same names. */
static enum hc_status draw(struct proof *q)
{
    int64_t extent[HC_MAX_AXES];
    struct hc_instance *a = &q->by_text;
    struct hc_instance *b = &q->by_rule;
    *a = (struct hc_instance){
        .definition = q->written, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    *b = *a;
    b->definition = q->derived;
    for (int i = 0; i < HC_MAX_AXES; i++)
        extent[i] = small_extent(i);
    for (int look = 0; look < 2; look++) {
        enum hc_status status = HC_OK;
        if (look)
            status = hc_define_sizes(q->forward, HC_SIZES_ONES, extent);
        hc_define_shape_inputs(a, extent);
        for (int i = 0; i < q->written->inputs; i++) {
            free(a->input[i].data);
            a->input[i].data = malloc(hc_tensor_bytes(&a->input[i]) + 64);
            if (!a->input[i].data)
                return hc_fail(HC_NO_MEMORY, "no memory for %s", q->written->tensor[i].name);
        }
        hc_define_fill_inputs(a, extent, HC_FAMILY_NORMAL, 1);
        for (int i = 0; i < q->derived->inputs; i++) {
            int same = hc_definition_tensor(q->written, q->derived->tensor[i].name);
            if (same < 0)
                return hc_fail(HC_INVALID, "backward of %s: %s is no input", q->forward->name,
                               q->derived->tensor[i].name);
            b->input[i] = a->input[same];
        }
        if (status == HC_OK && hc_instance_bind(a) == HC_OK && hc_instance_bind(b) == HC_OK)
            return HC_OK;
    }
    return HC_INVALID;
}

/* Whether two real numbers are the same, as far as they were computed. */
static bool is_same(const struct hc_defined_value *a, const struct hc_defined_value *b)
{
    double away = fabs(a->want.hi - b->want.hi + (a->want.lo - b->want.lo));
    if (isnan(a->want.hi) || isnan(b->want.hi))
        return isnan(a->want.hi) && isnan(b->want.hi);
    return a->want.hi == b->want.hi ||
           away <= 0x1p-36 * (a->rad + b->rad) + 0x1p-80 * fabs(a->want.hi);
}

static enum hc_status compare(struct proof *q, int tensor, int other, int64_t *compared)
{
    struct hc_evaluator *a = hc_evaluator_new(&q->by_text);
    struct hc_evaluator *b = hc_evaluator_new(&q->by_rule);
    const char *name = q->written->tensor[tensor].name;
    enum hc_status status = a && b ? HC_OK : HC_NO_MEMORY;
    struct hc_tensor shape = hc_instance_tensor(&q->by_text, tensor);
    for (int64_t i = 0; i < hc_tensor_count(&shape) && status == HC_OK; i++) {
        struct hc_defined_value x;
        struct hc_defined_value y;
        status = hc_evaluator_element(a, tensor, i, &x);
        if (status == HC_OK)
            status = hc_evaluator_element(b, other, i, &y);
        if (status != HC_OK || isinf(x.rad) || isinf(y.rad))
            continue;
        ++*compared;
        if (is_same(&x, &y))
            continue;
        char place[96] = "";
        int64_t rest = i;
        int64_t at[HC_MAX_RANK] = {0};
        for (int k = shape.rank - 1; k >= 0; k--) {
            at[k] = rest % shape.shape[k];
            rest /= shape.shape[k];
        }
        for (int k = 0; k < shape.rank; k++)
            (void)snprintf(place + strlen(place), sizeof place - strlen(place), "%s%lld",
                           k ? ", " : "[", (long long)at[k]);
        status = hc_fail(HC_INVALID,
                         "backward of %s: %s%s%s is %.9g as it is written, and %.9g as the "
                         "derivative of %s",
                         q->forward->name, name, place, shape.rank ? "]" : "", x.want.hi, y.want.hi,
                         q->forward->name);
    }
    hc_evaluator_free(a);
    hc_evaluator_free(b);
    return status;
}

static enum hc_status compare_all(struct proof *q)
{
    int64_t compared = 0;
    for (int i = 0; i < q->written->results; i++) {
        int tensor = q->written->result[i];
        const char *name = q->written->tensor[tensor].name;
        int other = hc_definition_tensor(q->derived, name);
        if (other < 0 || !q->derived->tensor[other].returned)
            return hc_fail(HC_INVALID, "backward of %s: %s is the gradient of no input",
                           q->forward->name, name);
        enum hc_status status = compare(q, tensor, other, &compared);
        if (status != HC_OK)
            return status;
    }
    return compared ? HC_OK
                    : hc_fail(HC_INVALID, "backward of %s: no element could be compared",
                              q->forward->name);
}

enum hc_status hc_backward_prove(const struct hc_definition *definition)
{
    struct proof *q = definition->backward ? calloc(1, sizeof *q) : NULL;
    struct hc_formula_error error;
    char *text = NULL;
    if (!definition->backward)
        return HC_OK;
    if (!q)
        return hc_fail(HC_NO_MEMORY, "no memory for a proof");
    q->forward = definition;
    enum hc_status status = hc_adjoint_text(definition, &text);
    if (status == HC_OK) {
        q->derived = hc_definition_read(text, &error);
        q->alone = hc_definition_read(definition->backward, &error);
        if (!q->derived || !q->alone)
            status = hc_fail(HC_INVALID, "backward of %s: %s", definition->name, error.what);
    }
    if (status == HC_OK)
        status = compose(q);
    if (status == HC_OK)
        status = draw(q);
    if (status == HC_OK)
        status = compare_all(q);
    for (int i = 0; q->written && i < q->written->inputs; i++)
        free(q->by_text.input[i].data);
    hc_definition_free(q->written);
    hc_definition_free(q->derived);
    hc_definition_free(q->alone);
    free(text);
    free(q);
    return status;
}
