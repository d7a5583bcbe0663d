/* Reading the JSON of halfcheck calc in tests. */
#ifndef HC_CLI_CALC_TESTING_H
#define HC_CLI_CALC_TESTING_H

#include <jansson.h>
#include <stdint.h>

#include "cli/testing.h"

/* The document of a command line that is to succeed. */
static inline json_t *document_of(const char *arguments)
{
    char line[2048];
    (void)snprintf(line, sizeof line, "$hc calc %s --json c.json", arguments);
    const struct ran *ran = run_shell(line);
    cr_assert_eq(ran->status, 0, "%s: %s", line, ran->err);
    json_t *document = json_load_file("c.json", 0, NULL);
    cr_assert_not_null(document, "%s", line);
    return document;
}

static inline const json_t *row_of(const json_t *document, int64_t step)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        if (json_integer_value(json_object_get(row, "step")) == step)
            return row;
    }
    cr_assert_fail("no row of step %lld", (long long)step);
    return NULL;
}

static inline const json_t *cell_of(const json_t *row, int item, int arm)
{
    const json_t *shown = json_array_get(json_object_get(row, "shown"), (size_t)item);
    return json_array_get(json_object_get(shown, "arms"), (size_t)arm);
}

static inline double value_of(const json_t *cell)
{
    return strtod(json_string_value(json_object_get(cell, "value")), NULL);
}

static inline const char *bits_of(const json_t *cell)
{
    return json_string_value(json_object_get(cell, "bits"));
}

static inline int64_t course_of(const json_t *document, int arm, const char *what)
{
    const json_t *a = json_array_get(json_object_get(document, "arms"), (size_t)arm);
    const json_t *step = json_object_get(json_array_get(json_object_get(a, "shown"), 0), what);
    return json_is_null(step) ? -1 : json_integer_value(step);
}

#endif
