/* How the records of a page were made: what was run, where, and how fast. */
#include <stdlib.h>
#include <string.h>

#include "check/record/parts.h"
#include "cli/calc/number.h"
#include "cli/lines.h"
#include "cli/report/sections.h"
#include "op/memory_stream.h"
#include "op/text.h"

/* A fact is told of each part of each record; values beyond these are only counted. */
enum { MOST_VALUES = 6 };

struct values {
    char *text[MOST_VALUES];
    int count; /* of different ones, also those that were not kept */
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Writes each of the members that the environment has, with a word before it: libraries by their
   names, which the environment does not spell as people do. */
static void put_members(FILE *out, const json_t *environment, const char *const (*members)[2])
{
    const char *before = "";
    for (; (*members)[0]; members++) {
        const char *text = text_of(environment, (*members)[0]);
        if (*text) {
            (void)fprintf(out, "%s%s%s", before, (*members)[1], text);
            before = ", ";
        }
    }
}

static const char *const version[][2] = {{"halfcheck", ""}, {"commit", "commit "}, {NULL}};
static const char *const machine[][2] = {{"cpu", ""}, {"gpu", ""}, {"os", ""}, {NULL}};
static const char *const software[][2] = {
    {"compiler", ""},  {"mpfr", "MPFR "},     {"onednn", "oneDNN "}, {"driver", "driver "},
    {"cuda", "CUDA "}, {"cublas", "cuBLAS "}, {"cudnn", "cuDNN "},   {NULL}};

static void put_words(FILE *out, const json_t *list, const char *between, bool shell)
{
    char word[8192];
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (shell)
            (void)hc_text_shell(word, sizeof word, text ? text : "");
        (void)fprintf(out, "%s%s", i ? between : "", shell ? word : text ? text : "");
    }
}

/* "12 cases (it has no adam)": how many cases were left out of all components, and why first. */
static void put_omissions(FILE *out, const char *backend, json_t *components)
{
    const char *name;
    const char *kind;
    const char *why = "";
    json_t *counts;
    json_t *n;
    json_int_t cases = 0;
    char number[HC_LONGEST_COUNT];
    json_object_foreach(components, name, counts)
    {
        if (!*why)
            why = text_of(counts, "why");
        json_object_foreach(counts, kind, n)
        {
            cases += json_integer_value(n);
        }
    }
    (void)fprintf(out, "%s: %s %s%s%s\n", backend, hc_page_count(cases, number),
                  hc_noun(cases, "case").text, *why ? ", the first because: " : "", why);
}

/* The names of the backends with this reason, from the first one on; "" if it was told before. */
static void put_names(FILE *out, json_t *left_out, const char *first, const char *reason)
{
    const char *backend;
    json_t *why;
    const char *before = "";
    json_object_foreach(left_out, backend, why)
    {
        if (!json_is_string(why) || strcmp(json_string_value(why), reason) != 0)
            continue;
        if (!*before && strcmp(backend, first) != 0)
            return;
        (void)fprintf(out, "%s%s", before, backend);
        before = ", ";
    }
    (void)fprintf(out, ": %s\n", reason);
}

/* A line for each reason. */
static void put_left_out(FILE *out, const struct hc_record_part *part)
{
    const char *backend;
    json_t *why;
    json_t *left_out = (json_t *)part->left_out;
    json_object_foreach(left_out, backend, why)
    {
        if (json_is_string(why))
            put_names(out, left_out, backend, json_string_value(why));
        else if (json_object_size(why))
            put_omissions(out, backend, why);
    }
}

enum fact {
    VERSION,
    DATE,
    MACHINE,
    BACKENDS,
    LEFT_OUT,
    LEVEL,
    SEED,
    CASES,
    SOFTWARE,
    COMMAND,
    FACTS
};
static const char *const titles[FACTS] = {"Version", "Date", "Machine", "Backends", "Left out",
                                          "Level",   "Seed", "Cases",   "Software", "Command"};

static void put_fact(FILE *out, enum fact fact, const struct hc_record_part *part)
{
    const json_t *cores = json_object_get(part->environment, "cores");
    const char *text = fact == DATE                   ? text_of(part->environment, "date")
                       : fact == SEED                 ? text_of(part->run, "seed")
                       : fact == LEVEL && part->level ? part->level
                                                      : "";
    (void)fputs(text, out);
    if (fact == VERSION)
        put_members(out, part->environment, version);
    if (fact == MACHINE)
        put_members(out, part->environment, machine);
    if (fact == MACHINE && json_is_integer(cores))
        (void)fprintf(out, ", %s", hc_count(json_integer_value(cores), "core").text);
    if (fact == BACKENDS)
        put_words(out, json_object_get(part->run, "backends"), ", ", false);
    if (fact == LEFT_OUT)
        put_left_out(out, part);
    if (fact == CASES && part->run && json_array_size(part->patterns) == 0)
        (void)fputs("all", out);
    if (fact == CASES)
        put_words(out, part->patterns, " ", false);
    if (fact == SOFTWARE)
        put_members(out, part->environment, software);
    if (fact == COMMAND)
        put_words(out, json_object_get(part->run, "command"), " ", true);
}

/* Keeps a value that is not there yet; takes the text. */
static void keep(struct values *values, char *text)
{
    bool known = !text || !*text;
    for (int i = 0; i < values->count && i < MOST_VALUES && !known; i++)
        known = strcmp(values->text[i], text) == 0;
    if (!known && values->count < MOST_VALUES)
        values->text[values->count] = text;
    else
        free(text);
    values->count += !known;
}

static void collect(struct values *values, enum fact fact, const struct hc_page_record *record)
{
    for (int p = 0; p < record->record.part_count; p++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = hc_memory_stream(&text, &size);
        if (!memory)
            return;
        put_fact(memory, fact, &record->record.parts[p]);
        (void)fclose(memory);
        keep(values, text);
    }
}

static void add_fact(json_t *facts, const char *title, bool command, const struct values *values)
{
    json_t *one = hc_page_add(facts);
    json_t *list = hc_page_list(one, command ? "commands" : "lines");
    hc_page_text(one, "title", title);
    for (int i = 0; i < values->count && i < MOST_VALUES; i++) {
        char *rest = NULL;
        char *text = values->text[i];
        if (command)
            hc_page_append(list, text);
        for (text = command ? NULL : strtok_r(text, "\n", &rest); text;
             text = strtok_r(NULL, "\n", &rest))
            hc_page_append(list, text);
    }
    hc_page_number(one, "others", values->count > MOST_VALUES ? values->count - MOST_VALUES : 0);
}

/* Network, data and schedule of a record of train or compare, which no case's name says. Of the
   classes that a set was narrowed to, all ten of CIFAR-10 need no names. */
static void put_training(FILE *out, const json_t *training)
{
    const json_t *classes = json_object_get(training, "classes");
    long long ranks = json_integer_value(json_object_get(training, "ranks"));
    (void)fprintf(out, "%s, %s", text_of(training, "network"), text_of(training, "data"));
    if (json_array_size(classes) > 0 && json_array_size(classes) <= 5) {
        (void)fputs(" (", out);
        put_words(out, classes, ", ", false);
        (void)fputs(")", out);
    }
    (void)fprintf(out, "; epochs %lld, batch %lld, ",
                  (long long)json_integer_value(json_object_get(training, "epochs")),
                  (long long)json_integer_value(json_object_get(training, "batch")));
    if (ranks > 1)
        (void)fprintf(out, "%s, ", hc_count(ranks, "rank").text);
    hc_print(out, "highest learning rate %g",
             json_number_value(json_object_get(training, "max_lr")));
}

static void add_training(json_t *facts, const struct hc_page_record *record)
{
    const json_t *training = json_object_get(record->record.document, "training");
    size_t size = 0;
    struct values values = {.count = 1};
    FILE *out = *text_of(training, "network") ? hc_memory_stream(&values.text[0], &size) : NULL;
    if (!out)
        return;
    put_training(out, training);
    if (fclose(out) == 0)
        add_fact(facts, "Training", false, &values);
    free(values.text[0]);
}

static void add_facts(json_t *data, const struct hc_page *page)
{
    json_t *list = hc_page_list(data, "facts");
    for (enum fact f = 0; f < FACTS; f++) {
        struct values values = {0};
        for (int r = 0; r < page->count; r++)
            collect(&values, f, &page->records[r]);
        if (values.count)
            add_fact(list, titles[f], f == COMMAND, &values);
        for (int i = 0; i < values.count && i < MOST_VALUES; i++)
            free(values.text[i]);
    }
    for (int r = 0; r < page->count && r < MOST_VALUES; r++)
        add_training(list, &page->records[r]);
}

/* A member with the words of a list, or with `none` if it is empty. */
static void set_words(json_t *run, const char *name, const json_t *list, bool shell,
                      const char *none)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = hc_memory_stream(&text, &size);
    if (!out)
        return;
    put_words(out, list, " ", shell);
    if (fclose(out) == 0)
        hc_page_text(run, name, json_array_size(list) ? text : none);
    free(text);
}

/* A part of a record as a row of "runs" or of "warnings". */
static json_t *add_part(json_t *list, const char *record, const char *part)
{
    json_t *row = hc_page_add(list);
    if (*part)
        hc_page_print(row, "part", "%s, part %s", record, part);
    else
        hc_page_text(row, "part", record);
    return row;
}

static void add_run(json_t *runs, const char *record, const struct hc_record_part *part)
{
    const char *seed = json_string_value(json_object_get(part->run, "seed"));
    const char *none = part->run ? "none" : "not known";
    json_t *run = add_part(runs, record, part->name);
    hc_page_text(run, "level", part->level ? part->level : none);
    hc_page_text(run, "seed", seed ? seed : "not known");
    set_words(run, "cases", part->patterns, false, part->run ? "all" : "not known");
    set_words(run, "backends", json_object_get(part->run, "backends"), false, none);
    set_words(run, "command", json_object_get(part->run, "command"), true, "not known");
}

/* How many cases of each component were left out, kind by kind, and the first reason. Green is only
   what has run. */
static long long add_left_out(json_t *left_out, const struct hc_record_part *part)
{
    long long all = 0;
    static const char *const kinds[] = {"absent", "refused", "order", "unasked"};
    const char *backend;
    const char *component;
    json_t *of_backend;
    json_t *counts;
    json_object_foreach((json_t *)part->left_out, backend, of_backend)
    {
        if (!json_is_object(of_backend)) /* a reason why it did not run at all */
            continue;
        json_object_foreach(of_backend, component, counts)
        {
            json_t *row = hc_page_add(left_out);
            hc_page_text(row, "backend", backend);
            hc_page_text(row, "component", component);
            for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                long long count = json_integer_value(json_object_get(counts, kinds[i]));
                hc_page_number(row, kinds[i], count);
                all += count;
            }
            hc_page_text(row, "why", text_of(counts, "why"));
        }
    }
    return all;
}

static void add_parts(json_t *data, const struct hc_page *page)
{
    json_t *warnings = hc_page_list(data, "warnings");
    json_t *runs = hc_page_list(data, "runs");
    json_t *left_out = hc_page_list(data, "left_out");
    long long all = 0; /* cases that were left out */
    for (int r = 0; r < page->count; r++)
        for (int p = 0; p < page->records[r].record.part_count; p++) {
            const char *record = page->records[r].name;
            const struct hc_record_part *part = &page->records[r].record.parts[p];
            if (part->cut)
                hc_page_text(add_part(warnings, record, part->name), "cut", part->cut);
            if (part->fault)
                hc_page_text(add_part(warnings, record, part->name), "fault", part->fault);
            add_run(runs, record, part);
            all += add_left_out(left_out, part);
        }
    hc_page_number(data, "left_out_count", all);
}

/* A row for each member of the environments, with a value of each record: a text, a number or
   null. */
static void add_environment(json_t *data, const struct hc_page *page)
{
    const char *key;
    json_t *value;
    json_t *first = json_object_get(page->records[0].record.document, "environment");
    json_t *rows = hc_page_list(data, "environment");
    json_object_foreach(first, key, value)
    {
        json_t *row = hc_page_add(rows);
        json_t *values = hc_page_list(row, "values");
        hc_page_text(row, "key", key);
        for (int r = 0; r < page->count; r++) {
            json_t *one = hc_page_add(values);
            const json_t *member = json_object_get(page->records[r].record.environment, key);
            char number[HC_NUMBER_TEXT];
            bool real = json_is_real(member);
            if (real)
                hc_number_text(number, HC_FP64, json_real_value(member), 0);
            char *text = !member || json_is_string(member) ? NULL
                         : real                            ? strdup(number)
                                                           : json_dumps(member, JSON_ENCODE_ANY);
            hc_page_text(one, "record", page->records[r].name);
            if (!member || json_is_null(member))
                hc_page_text(one, "value", "none");
            else
                hc_page_text(one, "value", text ? text : json_string_value(member));
            free(text);
        }
    }
}

/* The facts of the backends of a record: device, libraries, chosen plans. */
static void add_backends(json_t *list, const struct hc_page_record *record)
{
    const char *backend;
    const char *name;
    json_t *facts_of_it;
    json_t *fact;
    json_object_foreach((json_t *)record->record.backends, backend, facts_of_it)
    {
        json_t *one = hc_page_add(list);
        json_t *rows = hc_page_list(one, "facts_of_it");
        hc_page_text(one, "record", record->name);
        hc_page_text(one, "backend", backend);
        json_object_foreach(facts_of_it, name, fact)
        {
            json_t *row = hc_page_add(rows);
            hc_page_text(row, "fact", name);
            hc_page_text(row, "value", json_string_value(fact));
        }
    }
}

static void add_rates(json_t *list, const struct hc_page_record *record)
{
    static const char *const texts[] = {"bench", "what", "backend", "unit", "against"};
    static const char *const numbers[] = {"rate", "ratio"};
    const json_t *rate;
    size_t i;
    json_array_foreach(json_object_get(record->record.document, "rates"), i, rate)
    {
        json_t *row = hc_page_add(list);
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            hc_page_text(row, texts[t], text_of(rate, texts[t]));
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            const json_t *number = json_object_get(rate, numbers[n]);
            hc_page_text(row, numbers[n], "");
            if (json_is_number(number))
                hc_page_print(row, numbers[n], "%.4g", json_number_value(number));
        }
    }
}

void hc_page_runs(json_t *data, const struct hc_page *page)
{
    json_t *backends = hc_page_list(data, "backend_facts");
    json_t *rates = hc_page_list(data, "rates");
    add_facts(data, page);
    add_parts(data, page);
    add_environment(data, page);
    for (int r = 0; r < page->count; r++) {
        add_backends(backends, &page->records[r]);
        add_rates(rates, &page->records[r]);
    }
}
