/* What there is, on one screen or two: for `halfcheck list` without a word. */
#include <stdio.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/colour.h"
#include "cli/lists.h"
#include "op/text.h"
#include "op/wrap.h"

enum { NAME = 14, COUNT = 5 };

static const struct hc_list *find(const char *name)
{
    const struct hc_list *list = hc_lists;
    while (list->name && strcmp(list->name, name) != 0)
        list++;
    return list;
}

static json_t *rows_of(const char *name)
{
    json_t *rows = json_array();
    find(name)->add(rows);
    return rows;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

/* A name, how many there are of it unless that is negative, and a text in a column of its own. */
static void entry(FILE *out, const char *name, long long count, const char *text)
{
    (void)fputs("  ", out);
    int column = 2 + hc_colour_word(out, HC_COLOUR_STRONG, NAME, name);
    if (count >= 0)
        column += fprintf(out, "%*lld  ", COUNT, count);
    hc_print_wrapped(out, column, column, text);
}

static void heading(FILE *out, const char *text)
{
    hc_colour_print(out, HC_COLOUR_STRONG, "%s", text);
    (void)fputc('\n', out);
}

static void print_components(FILE *out)
{
    json_t *rows = rows_of("components");
    size_t i;
    const json_t *row;
    long long cases = 0;
    char line[256];
    json_array_foreach(rows, i, row) cases += json_integer_value(json_object_get(row, "cases"));
    (void)snprintf(line, sizeof line, "%lld cases in %zu components", cases, json_array_size(rows));
    heading(out, line);
    json_array_foreach(rows, i, row)
    {
        long long count = (long long)json_integer_value(json_object_get(row, "cases"));
        entry(out, text_of(row, "name"), count, text_of(row, "claims"));
    }
    json_decref(rows);
}

static void print_backends(FILE *out)
{
    json_t *rows = rows_of("backends");
    size_t i;
    const json_t *row;
    char line[512];
    int machines = 0;
    (void)fputc('\n', out);
    heading(out, "backends, which are implementations of the operations");
    json_array_foreach(rows, i, row)
    {
        const char *why = text_of(row, "reason");
        if (strncmp(text_of(row, "name"), "sim-", 4) == 0) {
            machines++;
            continue;
        }
        (void)snprintf(line, sizeof line, "%s%s%s", text_of(row, "title"),
                       why[0] ? "; cannot run here: " : "", why);
        entry(out, text_of(row, "name"), -1, line);
    }
    (void)snprintf(line, sizeof line, "products as the published models of %d machines have them",
                   machines);
    entry(out, "sim-*", -1, line);
    json_decref(rows);
}

/* The other lists, with the number of their rows. */
static void print_others(FILE *out)
{
    static const struct {
        const char *name;
        const char *what;
    } others[] = {
        {"ops", "operations on tensors, each with a contract"},
        {"recipes", "ways to place formats in a training"},
        {"scalers", "rules of loss scalers"},
        {"scales", "rules that scale tensors below half"},
        {"wrappers", "ways to average gradients over ranks"},
        {"formats", "floating-point formats"},
        {"units", "matrix units of GPUs and CPUs, to the bit"},
        {"faults", "defects to plant, each with the cases that catch it"},
        {"reports", "reports from the field"},
        {"mechanisms", "mechanisms of those reports"},
        {"corrections", "figures of texts and reports that are wrong"},
    };
    (void)fputc('\n', out);
    heading(out, "halfcheck list NAME lists these, and components, cases and backends");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        json_t *rows = rows_of(others[i].name);
        entry(out, others[i].name, (long long)json_array_size(rows), others[i].what);
        json_decref(rows);
    }
}

enum hc_status hc_print_everything(FILE *out)
{
    print_components(out);
    print_backends(out);
    print_others(out);
    (void)fputc('\n', out);
    heading(out, "next");
    (void)fputs("  halfcheck run eps             checks one component\n"
                "  halfcheck explain eps         lists its cases; with a case, shows its numbers\n"
                "  halfcheck find adam nan       finds a bug by its symptom\n"
                "  halfcheck run                 checks everything\n",
                out);
    return hc_json_status();
}
