/* A definition's text: from a file or from the library; and what it says. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "define/adjoint.h"
#include "define/library.h"
#include "define/value.h"
#include "op/text.h"
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
    (void)hc_complain("'%s' is no file and no definition of the library%s", source,
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
    if (t->format != HC_FORMAT_COUNT)
        printf(": %s", hc_formats[t->format].name);
}

/* What a right implementation may do, with what it costs: the table of define/value.h for people,
   as far as it matters to a definition. */

/* What a definition does, a bit each. */
enum {
    DOES_SUM = 1,
    DOES_PRODUCT = 2,
    DOES_QUOTIENT = 4,
    DOES_ROOT = 8,
    DOES_FUNCTION = 16,
    DOES_EXP = 32,
    DOES_SHIFT = 64,
    DOES_STORE = 128,
    DOES_NUMBER = 256,
    DOES_MAYBE_STORE = 512,
    DOES_VARIANCE = 1024
};

/* What of it needs a freedom. */
static unsigned does(const struct hc_definition *d)
{
    unsigned bits = 0;
    for (int i = 0; i < d->tensors; i++)
        bits |= d->tensor[i].shift ? DOES_SHIFT : 0;
    for (int i = 0; i < d->options; i++)
        bits |= d->option[i].type == HC_OPTION_REAL ? DOES_NUMBER : 0;
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        if (e->type != HC_TYPE_REAL)
            continue;
        if (e->kind == HC_EXPRESSION_STORE && e->format == HC_FORMAT_COUNT)
            bits |= e->optional ? DOES_MAYBE_STORE : DOES_STORE;
        bits |= e->moment ? DOES_VARIANCE : 0;
        if (e->kind == HC_EXPRESSION_NUMBER)
            bits |= DOES_NUMBER;
        if (e->kind == HC_EXPRESSION_OVER)
            bits |= e->reduction == HC_OVER_SUM    ? DOES_SUM
                    : e->reduction == HC_OVER_MEAN ? DOES_SUM | DOES_QUOTIENT
                    : e->reduction == HC_OVER_PROD ? DOES_PRODUCT
                                                   : 0;
        if (e->kind != HC_EXPRESSION_APPLY)
            continue;
        bits |= e->function == HC_FN_div                                ? DOES_QUOTIENT
                : e->function == HC_FN_sqrt                             ? DOES_ROOT
                : e->function == HC_FN_exp                              ? DOES_EXP | DOES_FUNCTION
                : hc_functions[e->function].kind == HC_FUNCTION_LIBRARY ? DOES_FUNCTION
                : hc_functions[e->function].kind == HC_FUNCTION_OP      ? DOES_PRODUCT
                                                                        : 0;
    }
    return bits;
}

static void print_freedoms(const struct hc_definition *definition,
                           const struct hc_freedoms *freedoms)
{
    static const struct {
        unsigned when;
        const char *what;
        const char *cost;
        int number; /* that stands before it: 1: 2 F; 2: C; 3: 2 F + 1 */
    } rows[] = {
        {DOES_PRODUCT, "round each product, sum and difference", "u of it", 0},
        {DOES_PRODUCT, "fuse a product with a sum", "nothing", 0},
        {DOES_SUM, "sum n terms in any order", "(n - 1) u of the sum of their magnitudes", 0},
        {DOES_QUOTIENT, "divide, or multiply with a reciprocal", "2.5 u of the quotient", 0},
        {DOES_ROOT, "take roots, or reciprocal roots", "1.5 u of the root", 0},
        {DOES_FUNCTION, "take exp, log, tanh and their like", " u of the result", 1},
        {DOES_EXP, "take exp(x) as a power of 2", "1.25 u |x| of the result", 0},
        {DOES_VARIANCE, "take a variance by Welford's formulas",
         "3 n u of sqrt(q v), q the mean of squares", 0},
        {DOES_SHIFT, "shift by another number", " u in each difference with it", 2},
        {DOES_SHIFT, "add it back rounded anew", "3 u of the shift", 0},
        {DOES_SHIFT, "sum over tiles and rescale them", " u of the sum a tile but the first", 3},
        {DOES_STORE, "store, as the text says", "half an ulp if it may fall either way", 0},
        {DOES_MAYBE_STORE, "store or not, as the text says", "half an ulp of the tensors' format",
         0},
        {DOES_NUMBER, "round the text's numbers and options", "u of each that needs it", 0},
        {~0U, "round each result", "half an ulp of its format", 0},
    };
    const double numbers[] = {0, 2 * freedoms->ulps, freedoms->shift, 2 * freedoms->ulps + 1};
    unsigned bits = does(definition);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!(rows[i].when & bits) && rows[i].when != ~0U)
            continue;
        printf("  %-38s ", rows[i].what);
        if (rows[i].number)
            printf("%g", numbers[rows[i].number]);
        printf("%s\n", rows[i].cost);
    }
}

void hc_define_print(const struct hc_definition *definition)
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
           hc_formats[hc_usual_freedoms.compute].name);
    print_freedoms(d, &hc_usual_freedoms);
}

static json_t *axes_of(const struct hc_definition *d, const struct hc_defined_tensor *t)
{
    json_t *axes = json_array();
    for (int i = 0; i < t->rank; i++)
        (void)json_array_append_new(axes, json_string(d->axis[t->axis[i]].name));
    return axes;
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
    json_t *document = json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", d->name, "digest", d->digest,
                                 "inputs", inputs, "options", options, "results", results);
    char *text = document ? json_dumps(document, JSON_INDENT(1)) : NULL;
    if (text)
        printf("%s\n", text);
    free(text);
    json_decref(document);
    return text ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for what the definition says");
}
