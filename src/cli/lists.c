#include "cli/lists.h"

#include <stdio.h>
#include <string.h>

#include "cases/components.h"
#include "cases/fixture/quote.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/record/json.h"
#include "check/runner.h"
#include "check/selftest/fault.h"
#include "cli/colour.h"
#include "cli/contract.h"
#include "cli/lines.h"
#include "op/typed.h"
#include "op/wrap.h"
#include "plugins.h"
#include "train/update/recipe_fields.h"

static json_t *row(json_t *rows, const char *name)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "name", json_string(name));
    (void)json_array_append_new(rows, o);
    return o;
}

static void put(json_t *o, const char *key, const char *text)
{
    (void)json_object_set_new(o, key, text ? hc_json_text(text) : json_null());
}

static void put_number(json_t *o, const char *key, int number)
{
    (void)json_object_set_new(o, key, json_integer(number));
}

static void put_real(json_t *o, const char *key, double number)
{
    (void)json_object_set_new(o, key, hc_json_real(number));
}

static void list_cases(json_t *rows)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        json_t *o = row(rows, cases[i]->name);
        put(o, "level", hc_level_names[cases[i]->level]);
        put(o, "runs", cases[i]->once ? "once" : "on each backend");
        put(o, "title", cases[i]->title);
        put(o, "source", cases[i]->source);
    }
}

static void list_components(json_t *rows)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n;) {
        int first = i;
        int length = (int)strcspn(cases[i]->name, "/");
        while (i < n && strncmp(cases[i]->name, cases[first]->name, (size_t)length + 1) == 0)
            i++;
        char name[HC_LONGEST_NAME + 1];
        (void)snprintf(name, sizeof name, "%.*s", length, cases[first]->name);
        json_t *o = row(rows, name);
        put_number(o, "cases", i - first);
        put(o, "claims", hc_component_claims(name));
    }
}

static void list_ops(json_t *rows)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char known[512] = "";
        for (int b = 0; b < n; b++) {
            if (backends[b]->kernel[op] && !backends[b]->default_cases)
                hc_append(known, sizeof known, "%s%s", known[0] ? "," : "", backends[b]->name);
        }
        json_t *o = row(rows, hc_ops[op].name);
        put_number(o, "inputs", hc_ops[op].inputs);
        put_number(o, "outputs", hc_ops[op].outputs);
        put(o, "title", hc_ops[op].title);
        put(o, "backends", known);
        hc_contract_json(o, (enum hc_op)op);
    }
}

static void list_backends(json_t *rows)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int b = 0; b < n; b++) {
        const struct hc_backend *backend = backends[b];
        const char *why = backend->unavailable ? backend->unavailable() : NULL;
        int ops = 0;
        for (int op = 0; op < HC_OP_COUNT; op++)
            ops += backend->kernel[op] != NULL;
        json_t *o = row(rows, backend->name);
        put(o, "available", why ? "no" : "yes");
        put_number(o, "ops", ops);
        put(o, "title", backend->title);
        put(o, "reason", why);
        put(o, "from", hc_plugins_file_of(backend->name));
    }
}

static void list_recipes(json_t *rows)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int i = 0; i < n; i++) {
        json_t *o = row(rows, recipes[i].name);
        put(o, "title", recipes[i].title);
        put(o, "source", recipes[i].source);
        put(o, "defects", recipes[i].defects);
        json_t *fields = json_object();
        for (int f = 0; f < hc_recipe_fields(); f++) {
            char text[HC_FIELD_TEXT];
            hc_recipe_field_text(&recipes[i], f, text);
            put(fields, hc_recipe_field_key(f), text);
        }
        (void)json_object_set_new(o, "fields", fields);
    }
}

static void list_scalers(json_t *rows)
{
    for (int i = 0; i < HC_SCALER_COUNT; i++) {
        const struct hc_scaler_info *scaler = &hc_scalers[i];
        json_t *o = row(rows, scaler->name);
        put_real(o, "first scale", (double)scaler->initial);
        put_number(o, "clean steps before growth", scaler->rule.interval);
        put(o, "on found", hc_on_found_names[scaler->on_found]);
        put(o, "detector", hc_detector_names[scaler->detector]);
        put(o, "title", scaler->title);
        put(o, "source", scaler->source);
        put(o, "defects", scaler->defects);
    }
}

static void list_faults(json_t *rows)
{
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        json_t *o = row(rows, fault->name);
        put(o, "ops", fault->ops);
        put(o, "title", fault->title);
        put(o, "caught by", fault->patterns);
        put(o, "class", hc_fault_classes[fault->class_].name);
        put(o, "in", fault->backend ? fault->backend : hc_fault_places[fault->place]);
    }
}

static void list_reports(json_t *rows)
{
    int n;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n; i++) {
        json_t *o = row(rows, reports[i].slug);
        put(o, "case", reports[i].shown_by ? reports[i].shown_by->name : NULL);
        put(o, "source", reports[i].source);
        put(o, "left out", reports[i].reason);
        const struct hc_bug *bug = reports[i].shown_by && hc_report_is_named(&reports[i])
                                       ? hc_bug_of(reports[i].shown_by)
                                       : NULL;
        if (bug) {
            put_number(o, "figures it prints", hc_bug_figures(bug).printed);
            put_number(o, "figures computed", hc_bug_figures(bug).computed);
        } else {
            put(o, "figures it prints", NULL);
            put(o, "figures computed", NULL);
        }
    }
}

static void list_mechanisms(json_t *rows)
{
    int n;
    const struct hc_mechanism *mechanisms = hc_mechanisms(&n);
    for (int i = 0; i < n; i++) {
        char faults[512] = "";
        for (int f = 0; mechanisms[i].faults[f]; f++)
            (void)snprintf(faults + strlen(faults), sizeof faults - strlen(faults), "%s%s",
                           f ? " " : "", mechanisms[i].faults[f]);
        json_t *o = row(rows, mechanisms[i].name);
        put_number(o, "cases", mechanisms[i].rows);
        put(o, "faults", faults[0] ? faults : NULL);
    }
}

/* What is said wrongly: in a text that is quoted, or in a report of a bug. */
static void list_corrections(json_t *rows)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_quote *quote = hc_quote_of(cases[i]);
        const struct hc_bug *bug = hc_bug_of(cases[i]);
        const char *correction = quote ? quote->correction : bug ? bug->correction : NULL;
        if (!correction)
            continue;
        json_t *o = row(rows, cases[i]->name);
        put(o, "source", cases[i]->source);
        put(o, "correction", correction);
        if (!quote)
            continue;
        json_t *numbers = json_object();
        put(numbers, "show", quote->show);
        put(numbers, "says", quote->says);
        put(numbers, "is", quote->is);
        (void)json_object_set_new(o, "numbers", numbers);
    }
}

static void list_formats(json_t *rows)
{
    /* What is too large becomes this, if it does not saturate. */
    static const char *const beyond[] = {
        [HC_SPECIAL_IEEE] = "infinity", [HC_SPECIAL_FN] = "NaN",
        [HC_SPECIAL_FNUZ] = "NaN",      [HC_SPECIAL_NONE] = "the largest number",
        [HC_SPECIAL_E8M0] = "NaN",      [HC_SPECIAL_INTEGER] = "the largest number"};
    for (int f = 0; f < HC_FORMAT_COUNT; f++) {
        const struct hc_format_info *format = &hc_formats[f];
        json_t *o = row(rows, format->name);
        put_number(o, "precision", format->precision);
        put_number(o, "emin", format->emin);
        put_number(o, "emax", format->emax);
        put_number(o, "bytes", format->bytes);
        put_real(o, "largest", hc_format_max((enum hc_format)f));
        put_real(o, "smallest", hc_format_tiny((enum hc_format)f));
        put_real(o, "unit roundoff", hc_format_unit((enum hc_format)f));
        put_number(o, "bits", format->bits);
        put(o, "overflow", beyond[format->special]);
    }
}

const struct hc_list hc_lists[] = {
    {"components", list_components, false, false},
    {"cases", list_cases, false, false},
    {"ops", list_ops, false, false},
    {"backends", list_backends, false, false},
    {"recipes", list_recipes, false, false},
    {"scalers", list_scalers, false, false},
    {"scales", hc_list_scales, false, false},
    {"scale-differences", hc_list_scale_differences, false, true},
    {"wrappers", hc_list_wrappers, false, false},
    {"faults", list_faults, false, false},
    {"formats", list_formats, false, false},
    {"units", hc_list_units, false, false},
    {"reports", list_reports, false, false},
    {"mechanisms", list_mechanisms, false, false},
    {"corrections", list_corrections, true, false},
    {0},
};

/* What there is, on one screen or two: for `halfcheck list` without a word. */

enum { NAME = 14, NUMBER = 5 };

static const struct hc_list *find_list(const char *name)
{
    const struct hc_list *list = hc_lists;
    while (list->name && strcmp(list->name, name) != 0)
        list++;
    return list;
}

static json_t *rows_of(const char *name)
{
    json_t *rows = json_array();
    find_list(name)->add(rows);
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
        column += fprintf(out, "%*lld  ", NUMBER, count);
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
