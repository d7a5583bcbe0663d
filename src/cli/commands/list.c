#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/quote.h"
#include "cases/mechanisms.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/record/json.h"
#include "check/selftest/fault.h"
#include "check/runner.h"
#include "cli/command.h"
#include "cli/contract.h"
#include "op/wrap.h"
#include "train/update/recipe_fields.h"

const struct hc_command hc_command_list;

/* A row is an object. Its members are in the order of the columns, the name first. The first array
   or object ends the columns: it and what follows it is shown as JSON only. */
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

static void list_ops(json_t *rows)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char known[256] = "";
        for (int b = 0; b < n; b++) {
            size_t used = strlen(known);
            if (backends[b]->kernel[op])
                (void)snprintf(known + used, sizeof known - used, "%s%s", used ? "," : "",
                               backends[b]->name);
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
        put(o, "in", hc_fault_places[fault->place]);
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
        put_number(o, "rows", mechanisms[i].rows);
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
    }
}

static void print_value(const json_t *value)
{
    if (json_is_integer(value))
        printf("%lld", (long long)json_integer_value(value));
    else
        (void)fputs(json_is_string(value) ? json_string_value(value) : "-", stdout);
}

static void print_text(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *o = json_array_get(rows, i);
        for (void *at = json_object_iter(o); at; at = json_object_iter_next(o, at)) {
            const json_t *value = json_object_iter_value(at);
            if (json_is_object(value) || json_is_array(value))
                break;
            if (at != json_object_iter(o))
                (void)putchar('\t');
            print_value(value);
        }
        (void)putchar('\n');
    }
}

enum { INDENT = 14 };

/* The columns are sentences: each is on lines of its own, behind its name. */
static void print_wrapped(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_array_get(rows, i), key, value)
        {
            const char *text = json_string_value(value);
            if (text && strcmp(key, "name") == 0)
                printf("%s\n", text);
            else if (text)
                hc_print_wrapped(stdout, printf("  %-*s", INDENT - 2, key), INDENT, text);
        }
    }
}

static const struct subject {
    const char *name;
    void (*list)(json_t *rows);
    void (*print)(const json_t *rows);
} subjects[] = {
    {"cases", list_cases, print_text},           {"ops", list_ops, print_text},
    {"backends", list_backends, print_text},     {"recipes", list_recipes, print_text},
    {"scalers", list_scalers, print_text},       {"faults", list_faults, print_text},
    {"formats", list_formats, print_text},       {"reports", list_reports, print_text},
    {"mechanisms", list_mechanisms, print_text}, {"corrections", list_corrections, print_wrapped},
};

static int print(const struct subject *subject, bool json)
{
    json_t *rows = json_array();
    subject->list(rows);
    enum hc_status status = json ? hc_json_print(stdout, rows) : hc_json_status();
    if (status == HC_OK && !json)
        subject->print(rows);
    json_decref(rows);
    return status == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

static int run(int argc, char **argv)
{
    bool json = false;
    const struct hc_option options[] = {
        {.name = "json", .flag = &json, .help = "print a JSON array of objects instead"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_list, options, argc, argv, &words, &status))
        return status;
    const char *subject = words ? argv[1] : "cases";
    int count;
    if (strcmp(subject, "cases") == 0 && !hc_all_cases(&count))
        return hc_complain_message();
    if (strcmp(subject, "reports") == 0 && !hc_reports(&count))
        return hc_complain_message();
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0] && words <= 1; i++)
        if (strcmp(subjects[i].name, subject) == 0)
            return print(&subjects[i], json);
    return hc_complain(
        "list: unknown '%s'; expected cases, ops, backends, recipes, scalers, faults, formats, "
        "reports, mechanisms or corrections",
        words > 1 ? argv[2] : subject);
}

const struct hc_command hc_command_list = {
    .name = "list",
    .usage = "[SUBJECT] [--json]",
    .summary = "list cases, ops, backends, recipes, faults, reports, corrections and more",
    .text =
        "SUBJECT is cases (the default) or another one of those below. Prints one row a line: the\n"
        "name first, columns separated by tabs, '-' for an empty column. The columns are:\n\n"
        "  cases     name, level, once or on each backend, claim, source\n"
        "  ops       name, inputs, outputs, title, backends that have it; with --json\n"
        "            every input and output (halfcheck explain op/NAME shows them)\n"
        "  backends  name, available, ops, title, why not available\n"
        "  recipes   name, title, source, known defects; with --json also all fields\n"
        "  scalers   name, first scale, clean steps before growth (0: never), what\n"
        "            becomes of a step in which it finds an infinity, how it finds one,\n"
        "            title, source, known defects\n"
        "  faults    name, ops, defect, the cases that catch it, its class, where it is\n"
        "            planted\n"
        "  formats   name, bits of precision, emin, emax, bytes, largest finite value,\n"
        "            smallest subnormal, unit roundoff\n"
        "  reports   slug of a report from the field, the case that shows it, source,\n"
        "            why it is left out\n"
        "  mechanisms\n"
        "            mechanism of reports, how many cases show it, planted faults of it\n"
        "  corrections\n"
        "            where a text's figure is wrong: the case, and on lines of their own\n"
        "            the source and what is true; with --json also the numbers of a text\n"
        "            that is quoted",
    .run = run,
};
