/* A definition's text: from a file or from the library; and what it says. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "define/gradient/adjoint.h"
#include "define/draw.h"
#include "define/library.h"
#include "define/value.h"
#include "cli/define/rows.h"
#include "op/typed.h"

char *hc_define_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(HC_LONGEST_DEFINITION + 2);
    size_t length = file && text ? fread(text, 1, HC_LONGEST_DEFINITION + 1, file) : 0;
    bool failed = !file || !text || ferror(file);
    int error = errno;
    if (file)
        (void)fclose(file);
    if (!failed)
        text[length] = '\0';
    if (!failed && strlen(text) == length)
        return text;
    free(text);
    if (failed)
        (void)hc_complain("%s: %s", path, strerror(error));
    else
        (void)hc_complain("%s: a definition is a text, and this file has a zero byte", path);
    return NULL;
}

static void unknown(const char *source)
{
    struct hc_nearest nearest = hc_nearest_to(source, strlen(source));
    for (const struct hc_library_text *row = hc_library; row->name; row++)
        hc_nearest_try(&nearest, row->name);
    (void)hc_complain("'%s' is neither a file nor a definition of the library%s", source,
                      hc_nearest_hint(&nearest));
}

struct hc_definition *hc_define_open(const char *source, const char *variant)
{
    struct hc_formula_error error;
    const char *known = hc_library_find(source);
    FILE *there = fopen(source, "rb");
    char *text = NULL;
    if (there) {
        (void)fclose(there);
        text = hc_define_read_file(source);
        if (!text)
            return NULL;
        known = text;
    } else if (!known) {
        unknown(source);
        return NULL;
    }
    struct hc_definition *definition = variant ? hc_definition_read_variant(known, variant, &error)
                                               : hc_definition_read(known, &error);
    if (!definition) {
        char shown[512];
        hc_formula_error_text(&error, shown, sizeof shown);
        (void)fflush(stdout);
        if (error.length == 0)
            (void)hc_complain("%s: %s", source, error.what);
        else
            (void)fprintf(stderr, "halfcheck: %s: %s\n", source, shown);
    }
    free(text);
    if (definition && hc_backward_prove(definition) != HC_OK) {
        (void)hc_complain("%s: %s", source, hc_message());
        hc_definition_free(definition);
        return NULL;
    }
    return definition;
}

static void print_tensor(const struct hc_definition *d, const struct hc_defined_tensor *t)
{
    printf("%s", t->name);
    for (int i = 0; i < t->rank; i++)
        printf("%s%s", i ? ", " : "[", d->axis[t->axis[i]].name);
    printf("%s", t->rank ? "]" : "");
    if (t->index)
        printf(": index%s%s", t->index_axis >= 0 ? " " : "",
               t->index_axis >= 0 ? d->axis[t->index_axis].name : "");
    if (t->input && t->gradient)
        printf(": gradient");
    if (t->format != HC_FORMAT_COUNT)
        printf(": %s", hc_formats[t->format].name);
}

void hc_define_print(const struct hc_definition *definition, const struct hc_freedoms *freedoms)
{
    const struct hc_definition *d = definition;
    printf("%s, definition %s\n\n  inputs   ", d->name, d->digest);
    for (int i = 0; i < d->inputs; i++) {
        print_tensor(d, &d->tensor[i]);
        printf("%s", i + 1 < d->inputs ? "  " : "\n");
    }
    for (int i = 0; i < d->options; i++)
        printf("%s%s = %.*s%s", i ? "  " : "  options  ", d->option[i].name,
               d->option[i].value->length, d->option[i].value->at, i + 1 < d->options ? "" : "\n");
    printf("  results  ");
    for (int i = 0; i < d->results; i++) {
        print_tensor(d, &d->tensor[d->result[i]]);
        printf("%s", i + 1 < d->results ? "  " : d->variants ? "\n" : "\n\n");
    }
    for (int i = 0; i < d->variants; i++)
        printf("%s%s%s", i ? ", " : "  variants ", d->variant[i],
               i + 1 < d->variants ? "" : "\n\n");
    for (int i = d->inputs; i < d->tensors; i++) {
        /* An equation may take several lines. */
        const char *at = d->tensor[i].at;
        const char *end = at + d->tensor[i].length;
        while (at < end) {
            size_t length = strcspn(at, "\n");
            length = at + length < end ? length : (size_t)(end - at);
            printf("  %.*s\n", (int)length, at);
            at += length + 1;
        }
    }
    printf("\nA right implementation computes in %s (u = half an ulp of 1) and may\n",
           hc_formats[freedoms->compute].name);
    hc_define_print_freedoms(d, freedoms);
}

static json_t *axes_of(const struct hc_definition *d, const struct hc_defined_tensor *t)
{
    json_t *axes = json_array();
    for (int i = 0; i < t->rank; i++)
        (void)json_array_append_new(axes, json_string(d->axis[t->axis[i]].name));
    return axes;
}

/* The inputs whose places stand alone. */
static json_t *rows_of(const struct hc_definition *d)
{
    json_t *rows = json_array();
    for (int i = 0; i < d->axes; i++)
        if (hc_define_stands_alone(d, i))
            (void)json_array_append_new(rows, json_string(d->axis[i].name));
    return rows;
}

/* Sizes around the borders of blocks: the lengths of the inputs' axes by their names. */
static json_t *borders_of(const struct hc_definition *d)
{
    json_t *rows = json_array();
    for (int border = 0; border < hc_define_borders(d); border++) {
        int64_t extent[HC_MAX_AXES];
        if (!hc_define_border(d, border, extent))
            continue;
        json_t *row = json_object();
        for (int i = 0; i < d->axes; i++)
            if (d->axis[i].inputs > 0)
                (void)json_object_set_new(row, d->axis[i].name, json_integer(extent[i]));
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

enum hc_status hc_define_print_json(const struct hc_definition *definition)
{
    static const char *const types[] = {
        [HC_OPTION_REAL] = "real", [HC_OPTION_INTEGER] = "integer", [HC_OPTION_TRUTH] = "truth"};
    const struct hc_definition *d = definition;
    json_t *inputs = json_array();
    json_t *options = json_array();
    json_t *results = json_array();
    for (int i = 0; i < d->inputs; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        json_t *index = !t->index            ? json_null()
                        : t->index_axis >= 0 ? json_string(d->axis[t->index_axis].name)
                                             : json_string("");
        (void)json_array_append_new(inputs, json_pack("{s:s, s:o, s:o}", "name", t->name, "axes",
                                                      axes_of(d, t), "index", index));
    }
    for (int i = 0; i < d->options; i++)
        (void)json_array_append_new(
            options, json_pack("{s:s, s:s, s:s%}", "name", d->option[i].name, "type",
                               types[d->option[i].type], "value", d->option[i].value->at,
                               (size_t)d->option[i].value->length));
    for (int i = 0; i < d->results; i++) {
        const struct hc_defined_tensor *t = &d->tensor[d->result[i]];
        (void)json_array_append_new(
            results, json_pack("{s:s, s:o, s:s?}", "name", t->name, "axes", axes_of(d, t), "format",
                               t->format == HC_FORMAT_COUNT ? NULL : hc_formats[t->format].name));
    }
    json_t *document = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", d->name, "digest",
                                 d->digest, "inputs", inputs, "options", options, "results",
                                 results, "rows", rows_of(d), "borders", borders_of(d));
    char *text = document ? json_dumps(document, JSON_INDENT(1)) : NULL;
    if (text)
        printf("%s\n", text);
    free(text);
    json_decref(document);
    return text ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for what the definition says");
}
