/* halfcheck define --draw: a file of inputs for a definition. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "define/ask.h"
#include "define/draw.h"
#include "tensor_file/tensor_file.h"

static enum hc_status sizes_of(const struct hc_definition *d, const struct hc_words *words,
                               int64_t extent[HC_MAX_AXES])
{
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

/* Sizes of the row, unless all axes of inputs are named, and then those that are. */
static enum hc_status choose_sizes(const struct hc_definition *d,
                                   const struct hc_define_drawing *drawing, int64_t *extent)
{
    int of_inputs = 0;
    for (int i = 0; i < HC_MAX_AXES; i++)
        extent[i] = 1;
    for (int i = 0; i < d->axes; i++)
        of_inputs += d->axis[i].inputs > 0;
    enum hc_status status = HC_OK;
    if (drawing->sizes.count < of_inputs)
        status = hc_define_sizes(d, (enum hc_size_row)drawing->row, extent);
    if (status != HC_OK) {
        char why[256];
        (void)snprintf(why, sizeof why, "%s", hc_message());
        return hc_fail(status, "%s; --size AXIS=N gives others", why);
    }
    return sizes_of(d, &drawing->sizes, extent);
}

/* Changes the inputs, and prints what was found for them. */
static enum hc_status ask(struct hc_instance *in, uint64_t seed)
{
    struct hc_asked asked[HC_MAX_ASKED];
    int found = 0;
    enum hc_status status = hc_define_ask(in, seed, asked, &found);
    for (int i = 0; i < found; i++)
        printf("%.*s %s: %.4g\n", asked[i].expression->length, asked[i].expression->at,
               asked[i].what, asked[i].value);
    return status;
}

/* Memory for the inputs, whose shapes are known. */
static enum hc_status give_memory(struct hc_instance *in)
{
    for (int i = 0; i < in->definition->inputs; i++) {
        struct hc_tensor *x = &in->input[i];
        double bytes = hc_formats[x->format].bytes;
        for (int k = 0; k < x->rank; k++)
            bytes *= (double)x->shape[k];
        x->data = bytes < 0x1p32 ? malloc((size_t)bytes + 64) : NULL;
        if (!x->data)
            return hc_fail(HC_NO_MEMORY, "no memory for %s", in->definition->tensor[i].name);
    }
    return HC_OK;
}

static void take_memory(struct hc_instance *in)
{
    for (int i = 0; i < in->definition->inputs; i++)
        free(in->input[i].data);
}

/* Fills the inputs with numbers whose results are settled, and prints what they are. */
static enum hc_status settle(struct hc_instance *in, const int64_t *extent, uint64_t seed)
{
    struct hc_settled settled;
    enum hc_status status = hc_define_settle(in, extent, seed, &settled);
    for (int i = 0; i < in->definition->inputs && status == HC_OK; i++)
        if (settled.what[i])
            printf("%s: %s\n", in->definition->tensor[i].name, settled.what[i]);
    if (status == HC_OK)
        printf("one result alone is right in %lld of %lld elements that were looked at\n",
               (long long)settled.settled, (long long)settled.looked);
    return status;
}

enum hc_status hc_define_draw(const struct hc_definition *definition,
                              const struct hc_define_drawing *drawing)
{
    const struct hc_definition *d = definition;
    struct hc_named_tensor tensors[HC_MAX_DEFINED_TENSORS];
    struct hc_instance in = {.definition = d};
    int64_t extent[HC_MAX_AXES];
    int count = 0;
    in.io = hc_format_by_name(drawing->format);
    if (in.io == HC_FORMAT_COUNT || hc_is_integer(&hc_formats[in.io]))
        return hc_fail(HC_INVALID, "define: --format %s is no format of numbers", drawing->format);
    enum hc_status status = choose_sizes(d, drawing, extent);
    if (status != HC_OK)
        return status;
    hc_define_shape_inputs(&in, extent);
    status = give_memory(&in);
    for (; count < d->inputs; count++)
        tensors[count] =
            (struct hc_named_tensor){.name = d->tensor[count].name, .tensor = in.input[count]};
    if (status == HC_OK) {
        enum hc_family family = (enum hc_family)drawing->family;
        bool searched = family == HC_FAMILY_ASKED || family == HC_FAMILY_SETTLED;
        hc_define_fill_inputs(&in, extent, searched ? HC_FAMILY_NORMAL : family, drawing->seed);
        if (searched)
            status = family == HC_FAMILY_ASKED ? ask(&in, drawing->seed)
                                               : settle(&in, extent, drawing->seed);
    }
    if (status == HC_OK) {
        status = hc_safetensors_write(drawing->path, tensors, count, NULL, 0);
    }
    take_memory(&in);
    return status;
}

/* A line of what is looked for, and below it the expressions. */
static void say_wish(void *context, const char *thing, const struct hc_expression *e)
{
    const char **last = context;
    if (*last != thing)
        printf("  %s\n", thing);
    *last = thing;
    printf("    ");
    bool blank = false;
    for (int i = 0; i < e->length; i++) {
        bool space = isspace((unsigned char)e->at[i]);
        if (!(space && blank))
            (void)putchar(space ? ' ' : e->at[i]);
        blank = space;
    }
    printf("\n");
}

enum hc_status hc_define_print_asked(const struct hc_definition *definition)
{
    struct hc_instance in = {
        .definition = definition, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    int64_t extent[HC_MAX_AXES];
    const char *last = NULL;
    enum hc_status status = hc_define_sizes(definition, HC_SIZES_USUAL, extent);
    if (status != HC_OK)
        return status;
    hc_define_shape_inputs(&in, extent);
    status = give_memory(&in);
    if (status == HC_OK) {
        hc_define_fill_inputs(&in, extent, HC_FAMILY_NORMAL, 0);
        printf("\nThe family `asked` of its inputs looks for, by derivatives,\n");
        status = hc_define_wishes(&in, say_wish, &last);
        printf("and `halfcheck define %s --draw FILE --family asked` says what it has found.\n",
               definition->name);
    }
    take_memory(&in);
    return status;
}
