/* The walk over a program's tree: what each node computes, and in which format values meet. */
#include <assert.h>
#include <string.h>

#include "formula/evaluation.h"

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

/* Whether a function of constants alone needs the arm's format. */
static bool needs_format(enum hc_function f)
{
    return f == HC_FN_sqrt || hc_functions[f].kind == HC_FUNCTION_LIBRARY;
}

/* Brings the operands of a function to the format in which it works. The condition of select stays
   as it is; but among constants alone a truth makes the others what truths are. */
static bool bring_together(struct hc_evaluation *e, const struct hc_node *node, struct hc_value **x)
{
    enum hc_function f = node->function;
    const struct hc_node *const *of = (const struct hc_node *const *)node->operand;
    int condition = f == HC_FN_select ? 1 : 0;
    if (needs_format(f) && x[0]->constant && !e->constants)
        x[0] = hc_meet(e, of[0], x[0], e->arm.arithmetic);
    if (!x[0] || !hc_unite(e, node, of + condition, x + condition, node->operands - condition))
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
    bool done = f == HC_FN_power ? hc_power(e, node, operand, y)
                                 : hc_operate(e, &operation, operand, y, 0, n);
    return done ? y : NULL;
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
    bool of_list = hc_functions[f].kind == HC_FUNCTION_LIST ||
                   ((f == HC_FN_min || f == HC_FN_max) && node->operands == 1);
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
