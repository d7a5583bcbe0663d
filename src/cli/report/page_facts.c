#include "cli/report/page_facts.h"

#include <stdlib.h>
#include <string.h>

#include "check/record/parts.h"
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

/* Writes each of the members that the object has, with `between` before all but the first. */
static void put_members(FILE *out, const json_t *object, const char *const *keys,
                        const char *between)
{
    const char *before = "";
    for (; *keys; keys++) {
        const json_t *member = json_object_get(object, *keys);
        if (json_is_string(member) && *json_string_value(member)) {
            (void)fprintf(out, "%s%s", before, json_string_value(member));
            before = between;
        }
    }
}

static void put_version(FILE *out, const struct hc_record_part *part)
{
    static const char *const keys[] = {"halfcheck", "commit", NULL};
    put_members(out, part->environment, keys, ", commit ");
}

static void put_machine(FILE *out, const struct hc_record_part *part)
{
    static const char *const keys[] = {"cpu", "gpu", "os", NULL};
    const json_t *cores = json_object_get(part->environment, "cores");
    put_members(out, part->environment, keys, ", ");
    if (json_is_integer(cores))
        (void)fprintf(out, ", %lld cores", (long long)json_integer_value(cores));
}

/* The libraries by their names, which the environment does not spell as people do. */
static void put_software(FILE *out, const struct hc_record_part *part)
{
    static const char *const libraries[][2] = {
        {"compiler", ""},  {"mpfr", "MPFR "},     {"onednn", "oneDNN "}, {"driver", "driver "},
        {"cuda", "CUDA "}, {"cublas", "cuBLAS "}, {"cudnn", "cuDNN "}};
    const char *before = "";
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        const char *version = text_of(part->environment, libraries[i][0]);
        if (*version) {
            (void)fprintf(out, "%s%s%s", before, libraries[i][1], version);
            before = ", ";
        }
    }
}

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

static void put_backends(FILE *out, const struct hc_record_part *part)
{
    put_words(out, json_object_get(part->run, "backends"), ", ", false);
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
    (void)fprintf(out, "%s: %s cases%s%s\n", backend, hc_page_count(cases, number),
                  *why ? ", the first because: " : "", why);
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

static void put_level(FILE *out, const struct hc_record_part *part)
{
    (void)fputs(part->level ? part->level : "", out);
}

static void put_seed(FILE *out, const struct hc_record_part *part)
{
    (void)fputs(text_of(part->run, "seed"), out);
}

static void put_cases(FILE *out, const struct hc_record_part *part)
{
    if (part->run && json_array_size(part->patterns) == 0)
        (void)fputs("all", out);
    put_words(out, part->patterns, " ", false);
}

static void put_date(FILE *out, const struct hc_record_part *part)
{
    (void)fputs(text_of(part->environment, "date"), out);
}

static void put_command(FILE *out, const struct hc_record_part *part)
{
    put_words(out, json_object_get(part->run, "command"), " ", true);
}

static const struct fact {
    const char *title;
    void (*put)(FILE *out, const struct hc_record_part *part);
} facts[] = {{"Version", put_version},   {"Date", put_date},         {"Machine", put_machine},
             {"Backends", put_backends}, {"Left out", put_left_out}, {"Level", put_level},
             {"Seed", put_seed},         {"Cases", put_cases},       {"Software", put_software},
             {"Command", put_command}};

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

static void collect(struct values *values, const struct fact *fact,
                    const struct hc_page_record *record)
{
    for (int p = 0; p < record->record.part_count; p++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = hc_memory_stream(&text, &size);
        if (!memory)
            return;
        fact->put(memory, &record->record.parts[p]);
        (void)fclose(memory);
        keep(values, text);
    }
}

static void write_lines(struct hc_page_out *out, char *text)
{
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest), *next; line; line = next) {
        next = strtok_r(NULL, "\n", &rest);
        hc_page_text(out, line);
        if (next)
            hc_page_break(out);
    }
}

static void write_fact(struct hc_page_out *out, const struct fact *fact,
                       const struct values *values)
{
    hc_page_term(out, fact->title);
    for (int i = 0; i < values->count && i < MOST_VALUES; i++) {
        if (i)
            hc_page_break(out);
        if (fact->put == put_command)
            hc_page_code(out, values->text[i]);
        else
            write_lines(out, values->text[i]);
    }
    if (values->count > MOST_VALUES)
        hc_page_print(out, ", and %d others", values->count - MOST_VALUES);
    hc_page_term_end(out);
}

/* The classes that a set was narrowed to; all ten of CIFAR-10 need no names. */
static void write_classes(struct hc_page_out *out, const json_t *classes)
{
    size_t i;
    json_t *name;
    if (json_array_size(classes) == 0 || json_array_size(classes) > 5)
        return;
    hc_page_text(out, " (");
    json_array_foreach((json_t *)classes, i, name)
    {
        hc_page_text(out, i ? ", " : "");
        hc_page_text(out, json_is_string(name) ? json_string_value(name) : "?");
    }
    hc_page_text(out, ")");
}

/* Network, data and schedule of a record of train or compare, which no case's name says. */
static void write_training(struct hc_page_out *out, const struct hc_page_record *record)
{
    const json_t *training = json_object_get(record->record.document, "training");
    if (!*text_of(training, "network"))
        return;
    hc_page_term(out, "Training");
    hc_page_text(out, text_of(training, "network"));
    hc_page_text(out, ", ");
    hc_page_text(out, text_of(training, "data"));
    write_classes(out, json_object_get(training, "classes"));
    hc_page_print(out, "; epochs %lld, batch %lld, ",
                  (long long)json_integer_value(json_object_get(training, "epochs")),
                  (long long)json_integer_value(json_object_get(training, "batch")));
    long long ranks = json_integer_value(json_object_get(training, "ranks"));
    if (ranks > 1)
        hc_page_print(out, "%lld ranks, ", ranks);
    hc_page_print(out, "highest learning rate %g",
                  json_number_value(json_object_get(training, "max_lr")));
    hc_page_term_end(out);
}

void hc_page_write_facts(struct hc_page_out *out, const struct hc_page_record *records, int count)
{
    hc_page_terms(out);
    for (size_t f = 0; f < sizeof facts / sizeof facts[0]; f++) {
        struct values values = {0};
        for (int r = 0; r < count; r++)
            collect(&values, &facts[f], &records[r]);
        if (values.count)
            write_fact(out, &facts[f], &values);
        for (int i = 0; i < values.count && i < MOST_VALUES; i++)
            free(values.text[i]);
    }
    for (int r = 0; r < count && r < MOST_VALUES; r++)
        write_training(out, &records[r]);
    hc_page_terms_end(out);
}
