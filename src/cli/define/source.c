/* A definition's text: from a file or from the library; and what it says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "define/freedom.h"
#include "define/library.h"
#include "op/text.h"
#include "op/typed.h"

/* The file's text, which the caller frees; NULL after a line. */
static char *read_file(const char *path)
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

struct hc_definition *hc_define_open(const char *source)
{
    struct hc_formula_error error;
    const char *known = hc_library_find(source);
    FILE *there = fopen(source, "rb");
    char *text = NULL;
    if (there) {
        (void)fclose(there);
        text = read_file(source);
        if (!text)
            return NULL;
        known = text;
    } else if (!known) {
        unknown(source);
        return NULL;
    }
    struct hc_definition *definition = hc_definition_read(known, &error);
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

void hc_define_print(const struct hc_definition *definition)
{
    const struct hc_definition *d = definition;
    struct hc_freedom freedom[HC_MAX_FREEDOMS];
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
        printf("%s", i + 1 < d->results ? "  " : "\n\n");
    }
    for (int i = d->inputs; i < d->tensors; i++)
        printf("  %.*s\n", d->tensor[i].length, d->tensor[i].at);
    printf("\nA right implementation computes in %s (u = half an ulp of 1) and may\n",
           hc_formats[hc_usual_freedoms.compute].name);
    int count = hc_freedoms_of(d, &hc_usual_freedoms, freedom);
    for (int i = 0; i < count; i++)
        printf("  %-38s %s\n", freedom[i].what, freedom[i].cost);
}
