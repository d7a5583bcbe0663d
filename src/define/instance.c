/* A definition meets its tensors: shapes, extents and options. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/value.h"

const struct hc_freedoms hc_usual_freedoms = {
    .compute = HC_FP32, .ulps = 2, .shift = 1, .tile = 16};

/* The whole number from `least` to `most` that the text is. */
static bool whole_number(const char *text, const char *end, long least, long most, int *value)
{
    char *rest;
    long number = strtol(text, &rest, 10);
    *value = (int)number;
    return rest != text && rest == end && number >= least && number <= most;
}

static bool some_number(const char *text, double least, double most, double *value)
{
    char *rest;
    *value = strtod(text, &rest);
    return rest != text && !*rest && *value >= least && *value <= most;
}

static bool number_format(const char *text, enum hc_format *format)
{
    *format = hc_format_by_name(text);
    return *format != HC_FORMAT_COUNT && !hc_is_integer(&hc_formats[*format]) &&
           hc_formats[*format].special == HC_SPECIAL_IEEE;
}

/* With the range of fp32, so that no factor overflows. */
static bool factors_format(const char *text, enum hc_format *format)
{
    return number_format(text, format) && (*format == HC_TF32 || *format == HC_BF16);
}

static bool read_order(struct hc_freedoms *f, const char *text)
{
    static const char blocks[] = "blocks(";
    size_t length = strlen(text);
    f->order = strcmp(text, "pairs") == 0 ? HC_SUMS_PAIRS : HC_SUMS_ANY;
    if (f->order == HC_SUMS_PAIRS || strcmp(text, "any") == 0)
        return true;
    f->order = HC_SUMS_BLOCKS;
    return length > sizeof blocks - 1 && strncmp(text, blocks, sizeof blocks - 1) == 0 &&
           text[length - 1] == ')' &&
           whole_number(text + sizeof blocks - 1, text + length - 1, 1, 1 << 20, &f->block);
}

enum hc_status hc_freedoms_allow(struct hc_freedoms *freedoms, const char *word)
{
    static const char *const rows[][2] = {
        {"order", "any, pairs or blocks(16)"},
        {"compute", "a format of numbers, such as fp64"},
        {"factors", "tf32 or bf16"},
        {"ulps", "a number from 0.5 to 1024"},
        {"shift", "a number from 0 to 1024"},
        {"tile", "a whole number from 0 to 1048576"},
        {"flush", "yes or no"},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    struct hc_freedoms *f = freedoms;
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const char *value = equals ? equals + 1 : "";
    int row = 0;
    while (row < ROWS &&
           (strlen(rows[row][0]) != length || strncmp(rows[row][0], word, length) != 0))
        row++;
    if (row == ROWS)
        return hc_fail(HC_INVALID,
                       "nothing is allowed by '%.40s': it is order=, compute=, factors=, ulps=, "
                       "shift=, tile= or flush=",
                       word);
    bool flush = strcmp(value, "yes") == 0;
    bool good = row == 0   ? read_order(f, value)
                : row == 1 ? number_format(value, &f->compute)
                : row == 2 ? (f->rounds_factors = factors_format(value, &f->factors))
                : row == 3 ? some_number(value, 0.5, 1024, &f->ulps)
                : row == 4 ? some_number(value, 0, 1024, &f->shift)
                : row == 5 ? whole_number(value, value + strlen(value), 0, 1 << 20, &f->tile)
                           : (f->flush = flush) || strcmp(value, "no") == 0;
    return good ? HC_OK
                : hc_fail(HC_INVALID, "%s='%.40s' is not allowed: it is %s", rows[row][0], value,
                          rows[row][1]);
}

double hc_freedoms_depth(const struct hc_freedoms *freedoms, int64_t n)
{
    double any = (double)(n - 1);
    if (freedoms->order == HC_SUMS_PAIRS)
        return fmin(any, ceil(log2((double)n)));
    if (freedoms->order == HC_SUMS_BLOCKS)
        return fmin(any, ceil((double)n / freedoms->block) - 1 + ceil(log2(freedoms->block)));
    return any;
}

/* floor of a quotient takes the quotient's operands. */
static const struct hc_expression *operands_of(const struct hc_expression *e)
{
    bool whole = e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_floor &&
                 e->operand[0]->kind == HC_EXPRESSION_APPLY && e->operand[0]->function == HC_FN_div;
    return whole ? e->operand[0] : e;
}

static const char *apply(const struct hc_expression *e, const int64_t *x, int64_t *value)
{
    double exact = (double)x[0];
    bool whole = operands_of(e) != e;
    *value = x[0];
    if ((whole || e->kind == HC_EXPRESSION_MOD) && x[1] == 0)
        return "an index is divided by 0";
    if (whole) {
        *value = x[0] / x[1] - (x[0] % x[1] != 0 && (x[0] < 0) != (x[1] < 0));
        return NULL;
    }
    if (e->kind == HC_EXPRESSION_MOD) {
        *value = (x[0] % x[1] + x[1]) % x[1];
        return NULL;
    }
    switch ((int)e->function) {
    case HC_FN_add:
        exact = (double)x[0] + (double)x[1];
        *value = x[0] + x[1];
        break;
    case HC_FN_sub:
        exact = (double)x[0] - (double)x[1];
        *value = x[0] - x[1];
        break;
    case HC_FN_mul:
        exact = (double)x[0] * (double)x[1];
        *value = fabs(exact) < 0x1p60 ? x[0] * x[1] : 0;
        break;
    case HC_FN_negate:
        *value = -x[0];
        break;
    case HC_FN_abs:
        *value = llabs(x[0]);
        break;
    case HC_FN_min:
    case HC_FN_max:
        *value = (x[0] < x[1]) == (e->function == HC_FN_min) ? x[0] : x[1];
        break;
    default: /* floor of an integer */
        break;
    }
    return fabs(exact) < 0x1p60 ? NULL : "an index is beyond 2^60";
}

static bool option_integer(struct hc_integers *integers, int i, int64_t *value)
{
    const char *text = integers->instance->option[i];
    char *end;
    if (!text)
        return hc_integer_value(integers, integers->instance->definition->option[i].value, value);
    *value = strtoll(text, &end, 10);
    return *text && *end == '\0' && llabs(*value) < INT64_C(1) << 50;
}

bool hc_integer_value(struct hc_integers *integers, const struct hc_expression *e, int64_t *value)
{
    int64_t x[HC_MAX_EXPRESSION_OPERANDS] = {0};
    bool select = e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_select;
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        *value = e->whole;
        return true;
    case HC_EXPRESSION_AXIS:
        *value = integers->place ? integers->place[e->axis] : 0;
        return integers->place;
    case HC_EXPRESSION_EXTENT:
        *value = integers->instance->extent[e->axis];
        return *value >= 0;
    case HC_EXPRESSION_OPTION:
        return option_integer(integers, e->option, value);
    default:
        break;
    }
    if ((e->kind != HC_EXPRESSION_APPLY && e->kind != HC_EXPRESSION_MOD) || select)
        return integers->leaf && integers->leaf(integers->context, e, value);
    const struct hc_expression *of = operands_of(e);
    for (int i = 0; i < of->operands; i++)
        if (!hc_integer_value(integers, of->operand[i], &x[i]))
            return false;
    integers->wrong = apply(e, x, value);
    return !integers->wrong;
}

static enum hc_status check_option(const struct hc_instance *instance, int i)
{
    const struct hc_defined_option *option = &instance->definition->option[i];
    const char *text = instance->option[i];
    int64_t value;
    bool fits = true;
    if (!text)
        return HC_OK;
    if (option->type == HC_OPTION_TRUTH)
        fits = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    else if (option->type == HC_OPTION_INTEGER)
        fits = option_integer(&(struct hc_integers){.instance = instance}, i, &value);
    else {
        struct hc_real *x = hc_real_new(0);
        fits = x && hc_real_read(x, text, NULL);
        hc_real_free(x);
    }
    static const char *const what[] = {[HC_OPTION_REAL] = "a number",
                                       [HC_OPTION_INTEGER] = "an integer",
                                       [HC_OPTION_TRUTH] = "true or false"};
    return fits ? HC_OK
                : hc_fail(HC_INVALID, "%s: the option %s is %s, and not '%s'",
                          instance->definition->name, option->name, what[option->type], text);
}

/* An axis has one extent in all inputs. */
static enum hc_status take_shape(struct hc_instance *instance, int tensor)
{
    const struct hc_definition *d = instance->definition;
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    const struct hc_tensor *data = &instance->input[tensor];
    if (data->rank == 1 && t->rank == 0 && data->shape[0] == 1)
        return HC_OK; /* one number */
    if (data->rank != t->rank)
        return hc_fail(HC_INVALID, "%s: %s has %d %s here, and %d in the definition", d->name,
                       t->name, data->rank, data->rank == 1 ? "axis" : "axes", t->rank);
    bool integers = hc_is_integer(&hc_formats[data->format]);
    if (t->index && !integers)
        return hc_fail(HC_INVALID, "%s: %s holds indices, and comes in %s", d->name, t->name,
                       hc_formats[data->format].name);
    for (int i = 0; i < t->rank; i++) {
        int64_t *extent = &instance->extent[t->axis[i]];
        if (*extent >= 0 && *extent != data->shape[i])
            return hc_fail(HC_INVALID, "%s: axis %s is %lld long in %s, and %lld before", d->name,
                           d->axis[t->axis[i]].name, (long long)data->shape[i], t->name,
                           (long long)*extent);
        *extent = data->shape[i];
    }
    return HC_OK;
}

/* Every index lies on its axis, or is negative, as the mark of what is ignored. */
static enum hc_status check_indices(const struct hc_instance *instance, int tensor)
{
    const struct hc_definition *d = instance->definition;
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    const struct hc_tensor *data = &instance->input[tensor];
    if (t->index_axis < 0)
        return HC_OK;
    int64_t extent = instance->extent[t->index_axis];
    for (int64_t i = 0; i < hc_tensor_count(data); i++)
        if (hc_tensor_get(data, i) >= (double)extent)
            return hc_fail(HC_INVALID, "%s: %s has %.0f, and the axis %s has %lld places", d->name,
                           t->name, hc_tensor_get(data, i), d->axis[t->index_axis].name,
                           (long long)extent);
    return HC_OK;
}

/* Operations for one element, what other equations need not counted. */
static double cost(const struct hc_instance *instance, const struct hc_expression *e)
{
    double operations = 1;
    for (int i = 0; i < e->operands; i++)
        operations += cost(instance, e->operand[i]);
    return e->kind == HC_EXPRESSION_OVER ? operations * (double)instance->extent[e->axis]
                                         : operations;
}

double hc_instance_work(const struct hc_instance *instance)
{
    const struct hc_definition *d = instance->definition;
    double work = 0;
    for (int i = d->inputs; i < d->tensors; i++)
        work += cost(instance, d->tensor[i].value) * (double)hc_instance_count(instance, i);
    return work;
}

/* What makes an instance too large, and the part of the text that says so. */
struct excess {
    char what[160];
    const char *at;
    int length;
};

/* Finds the extents of the axes that the text declares. One that is unknown stays -1. */
static bool find_extents(struct hc_instance *instance, struct excess *excess)
{
    const struct hc_definition *d = instance->definition;
    for (int i = 0; i < d->axes; i++) {
        const struct hc_expression *e = d->axis[i].extent;
        struct hc_integers integers = {.instance = instance};
        int64_t extent = -1;
        bool known = e && hc_integer_value(&integers, e, &extent);
        if (known && (extent < 0 || extent > INT32_MAX))
            (void)snprintf(excess->what, sizeof excess->what,
                           "axis %s would have %lld places; it may have from 0 to %d",
                           d->axis[i].name, (long long)extent, INT32_MAX);
        else if (integers.wrong)
            (void)snprintf(excess->what, sizeof excess->what, "%s", integers.wrong);
        excess->at = e ? e->at : NULL;
        excess->length = e ? e->length : 0;
        if (excess->what[0])
            return false;
        if (known)
            instance->extent[i] = extent;
    }
    return true;
}

/* Whether each equation has elements that can be counted, and an element that can be computed. */
static bool can_compute(const struct hc_instance *instance, struct excess *excess)
{
    const struct hc_definition *d = instance->definition;
    for (int i = d->inputs; i < d->tensors; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        double count = 1;
        for (int k = 0; k < t->rank; k++)
            count *= (double)instance->extent[t->axis[k]];
        if (count > 0x1p40)
            (void)snprintf(excess->what, sizeof excess->what, "%s has more than 2^40 elements",
                           t->name);
        else if (cost(instance, t->value) > (double)HC_MAX_OPERATIONS)
            (void)snprintf(excess->what, sizeof excess->what,
                           "an element of %s takes more than 2^28 operations", t->name);
        excess->at = t->at;
        excess->length = t->length;
        if (excess->what[0])
            return false;
    }
    return true;
}

bool hc_instance_possible(const struct hc_definition *definition, struct hc_formula_error *error)
{
    struct hc_instance instance = {.definition = definition};
    struct excess excess = {.what = ""};
    for (int i = 0; i < HC_MAX_AXES; i++)
        instance.extent[i] = -1;
    bool possible = find_extents(&instance, &excess);
    for (int i = 0; i < HC_MAX_AXES; i++)
        if (instance.extent[i] < 0)
            instance.extent[i] = 1;
    possible = possible && can_compute(&instance, &excess);
    if (!possible) {
        (void)snprintf(error->what, sizeof error->what, "%s", excess.what);
        error->at = (int)(excess.at - definition->text);
        error->length = excess.length;
    }
    return possible;
}

enum hc_status hc_instance_bind(struct hc_instance *instance)
{
    const struct hc_definition *d = instance->definition;
    struct excess excess = {.what = ""};
    for (int i = 0; i < HC_MAX_AXES; i++)
        instance->extent[i] = -1;
    for (int i = 0; i < d->options; i++)
        if (check_option(instance, i) != HC_OK)
            return HC_INVALID;
    for (int i = 0; i < d->inputs; i++)
        if (take_shape(instance, i) != HC_OK)
            return HC_INVALID;
    bool found = find_extents(instance, &excess);
    for (int i = 0; i < d->axes && found; i++)
        if (instance->extent[i] < 0)
            return hc_fail(HC_INVALID, "%s: axis %s has no extent for these inputs", d->name,
                           d->axis[i].name);
    for (int i = 0; i < d->inputs && found; i++)
        if (check_indices(instance, i) != HC_OK)
            return HC_INVALID;
    if (!found || !can_compute(instance, &excess))
        return hc_fail(HC_INVALID, "%s: %s", d->name, excess.what);
    return HC_OK;
}

struct hc_tensor hc_instance_tensor(const struct hc_instance *instance, int tensor)
{
    const struct hc_defined_tensor *t = &instance->definition->tensor[tensor];
    struct hc_tensor shape = {.format = t->format == HC_FORMAT_COUNT ? instance->io : t->format,
                              .rank = t->rank};
    for (int i = 0; i < t->rank; i++)
        shape.shape[i] = instance->extent[t->axis[i]];
    return shape;
}

int64_t hc_instance_count(const struct hc_instance *instance, int tensor)
{
    struct hc_tensor shape = hc_instance_tensor(instance, tensor);
    return hc_tensor_count(&shape);
}
