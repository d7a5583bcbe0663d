/* halfcheck define --draw: a file of inputs for a definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "define/draw.h"
#include "tensor_file/tensor_file.h"

/* The sizes of axes that nobody names, in turn: borders of vectors and tiles, and one beside. */
static const int64_t usual[] = {5, 17, 8, 32};

static enum hc_status sizes_of(const struct hc_definition *d, const struct hc_words *words,
                               int64_t extent[HC_MAX_AXES])
{
    for (int i = 0; i < d->axes; i++)
        extent[i] = usual[i % 4];
    for (int i = 0; i < words->count; i++) {
        char name[HC_LONGEST_DEFINED_NAME + 1] = "";
        char *end = NULL;
        const char *equals = strchr(words->word[i], '=');
        if (equals && (size_t)(equals - words->word[i]) < sizeof name)
            (void)snprintf(name, sizeof name, "%.*s", (int)(equals - words->word[i]),
                           words->word[i]);
        int axis = hc_definition_axis(d, name);
        if (!equals || axis < 0 || d->axis[axis].extent)
            return hc_fail(HC_INVALID, "define: --size %s: %s has no such axis of inputs",
                           words->word[i], d->name);
        long long size = strtoll(equals + 1, &end, 10);
        if (end == equals + 1 || *end || size < 0 || size > 1 << 24)
            return hc_fail(HC_INVALID, "define: --size %s: a size is from 0 to 16777216",
                           words->word[i]);
        extent[axis] = size;
    }
    return HC_OK;
}

/* The option with which places are compared, such as the mark of what is ignored; -1: none. */
static int mark_of(const struct hc_definition *d, int tensor)
{
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        bool compared = e->kind == HC_EXPRESSION_APPLY &&
                        (e->function == HC_FN_equal || e->function == HC_FN_not_equal);
        if (compared && e->operand[0]->kind == HC_EXPRESSION_READ &&
            e->operand[0]->tensor == tensor && e->operand[1]->kind == HC_EXPRESSION_OPTION)
            return e->operand[1]->option;
    }
    return -1;
}

/* Every seventh place is the mark, where there is one. */
static void mark_some(const struct hc_definition *d, int tensor, const struct hc_tensor *x)
{
    int option = mark_of(d, tensor);
    if (d->tensor[tensor].index_axis < 0 || option < 0)
        return;
    const struct hc_expression *value = d->option[option].value;
    bool negative = value->kind == HC_EXPRESSION_APPLY && value->function == HC_FN_negate;
    double mark = strtod((negative ? value->operand[0] : value)->at, NULL);
    for (int64_t i = 3; i < hc_tensor_count(x); i += 7)
        hc_tensor_set(x, i, negative ? -mark : mark);
}

enum hc_status hc_define_draw(const struct hc_definition *definition,
                              const struct hc_define_drawing *drawing)
{
    const struct hc_definition *d = definition;
    struct hc_named_tensor tensors[HC_MAX_DEFINED_TENSORS];
    int64_t extent[HC_MAX_AXES];
    enum hc_status status = sizes_of(d, &drawing->sizes, extent);
    int count = 0;
    enum hc_format format = hc_format_by_name(drawing->format);
    if (format == HC_FORMAT_COUNT || hc_is_integer(&hc_formats[format]))
        return hc_fail(HC_INVALID, "define: --format %s is no format of numbers", drawing->format);
    while (status == HC_OK && count < d->inputs) {
        const struct hc_defined_tensor *t = &d->tensor[count];
        struct hc_tensor x = {.format = t->index ? HC_I32 : format, .rank = t->rank};
        double bytes = hc_formats[x.format].bytes;
        for (int i = 0; i < t->rank; i++) {
            x.shape[i] = extent[t->axis[i]];
            bytes *= (double)x.shape[i];
        }
        x.data = bytes < 0x1p32 ? malloc((size_t)bytes + 64) : NULL;
        if (!x.data)
            status = hc_fail(HC_NO_MEMORY, "no memory for %s", t->name);
        else
            hc_family_draw(&x, (enum hc_family)drawing->family,
                           t->index_axis >= 0 ? extent[t->index_axis] : 8, drawing->seed,
                           (uint64_t)count);
        if (status == HC_OK)
            mark_some(d, count, &x);
        tensors[count++] = (struct hc_named_tensor){.name = t->name, .tensor = x};
    }
    if (status == HC_OK)
        status = hc_safetensors_write(drawing->path, tensors, count, NULL, 0);
    for (int i = 0; i < count; i++)
        free(tensors[i].tensor.data);
    return status;
}
