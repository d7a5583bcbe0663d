#include "check/record/record_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *hc_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char clean[1024];
    size_t used = 0;
    for (; *text && used + 5 < sizeof clean; text++) {
        bool plain = (unsigned char)*text < 0x80;
        used += (size_t)snprintf(clean + used, sizeof clean - used, plain ? "%c" : "\\x%02x",
                                 (unsigned char)*text);
    }
    return json_stringn(clean, used);
}

static json_t *texts(const char *const *text, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        (void)json_array_append_new(list, hc_json_text(text[i]));
    return list;
}

void hc_record_set_invocation(json_t *record, const struct hc_invocation *run)
{
    int words = 0;
    while (run->command && run->command[words])
        words++;
    json_t *backends = json_array();
    for (int b = 0; b < run->backend_count; b++)
        (void)json_array_append_new(backends, json_string(run->backends[b]->name));
    json_t *o = json_pack(
        "{s:o, s:o, s:s?, s:o, s:o, s:o, s:o?}", "command", texts(run->command, words), "patterns",
        texts(run->patterns, run->pattern_count), "level", run->level, "seed",
        json_sprintf("%llu", (unsigned long long)run->seed), "backends", backends, "faults",
        texts(&run->fault, run->fault != NULL), "cut", run->cut ? hc_json_text(run->cut) : NULL);
    (void)json_object_set_new(record, "run", o);
}

static bool are_texts(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return false;
    return json_is_array(list);
}

static bool is_text_or_null(const json_t *value)
{
    return json_is_string(value) || json_is_null(value);
}

/* Makes a part of an object that has "run" or, in older records, "level"; what is wrong with it. */
static const char *read_part(const json_t *o, const char *name, struct hc_record_part *part)
{
    static const char *const lists[] = {"command", "patterns", "backends", "faults"};
    const json_t *run = json_object_get(o, "run");
    *part = (struct hc_record_part){.name = name,
                                    .environment = json_object_get(o, "environment"),
                                    .left_out = json_object_get(o, "left_out"),
                                    .run = run,
                                    .has_run = run != NULL,
                                    .level = json_string_value(json_object_get(o, "level"))};
    if (!run)
        return NULL;
    if (!json_is_object(run))
        return "\"run\" is not an object";
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (!are_texts(json_object_get(run, lists[i])))
            return "in \"run\", \"command\", \"patterns\", \"backends\" or \"faults\" is not a "
                   "list of "
                   "strings";
    if (!is_text_or_null(json_object_get(run, "level")) ||
        !is_text_or_null(json_object_get(run, "cut")) ||
        !json_is_string(json_object_get(run, "seed")))
        return "in \"run\", \"level\", \"seed\" or \"cut\" is not a string";
    part->patterns = json_object_get(run, "patterns");
    part->level = json_string_value(json_object_get(run, "level"));
    part->cut = json_string_value(json_object_get(run, "cut"));
    part->fault = json_string_value(json_array_get(json_object_get(run, "faults"), 0));
    return NULL;
}

/* Of the parts of an older merged record, which do not say how many results are theirs: their level
   where it is the same in all that have one. */
static const char *common_level(const json_t *parts)
{
    const char *level = NULL;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *one = json_object_get(json_array_get(parts, i), "level");
        if (json_is_string(one) && level && strcmp(level, json_string_value(one)) != 0)
            return NULL;
        if (json_is_string(one))
            level = json_string_value(one);
    }
    return level;
}

static json_int_t results_of(const json_t *parts, size_t i)
{
    const json_t *count = json_object_get(json_array_get(parts, i), "result_count");
    return json_is_integer(count) ? json_integer_value(count) : -1;
}

/* Whether the parts say how many results are theirs: 1 if all do, 0 if none, -1 if it does not come
   out. */
static int say_whose(const json_t *parts, int count)
{
    json_int_t sum = 0;
    size_t silent = 0;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        json_int_t n = results_of(parts, i);
        if (n > count)
            return -1;
        silent += n < 0;
        sum += n < 0 ? 0 : n;
    }
    if (silent == json_array_size(parts))
        return 0;
    return silent || sum != count ? -1 : 1;
}

static const char *read_parts(struct hc_record *record, const json_t *parts)
{
    int at = 0;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *o = json_array_get(parts, i);
        const char *name = json_string_value(json_object_get(o, "name"));
        const char *wrong = read_part(o, name ? name : "?", &record->parts[i]);
        if (wrong)
            return wrong;
        for (json_int_t n = results_of(parts, i); n > 0; n--)
            record->rows[at++].part = (int)i;
    }
    return NULL;
}

const char *hc_record_find_parts(struct hc_record *record)
{
    const json_t *parts = json_object_get(record->document, "parts");
    int whose = parts ? say_whose(parts, record->count) : 0;
    record->part_count = whose > 0 ? (int)json_array_size(parts) : 1;
    record->parts = calloc((size_t)record->part_count, sizeof *record->parts);
    if (!record->parts)
        return "no memory for its parts";
    if (whose < 0)
        return "the parts' \"result_count\" are not the number of results";
    if (whose > 0 && json_object_get(record->document, "run"))
        return "it is made of parts, and has a \"run\" of its own";
    if (whose > 0)
        return read_parts(record, parts);
    const char *wrong = read_part(record->document, "", &record->parts[0]);
    if (parts)
        record->parts[0].level = common_level(parts);
    return wrong;
}
