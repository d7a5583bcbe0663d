#include <stdio.h>
#include <string.h>

#include "op/output.h"
#include "check/record/baseline.h"
#include "check/record/parts.h"
#include "check/record/refusals.h"
#include "cli/command.h"

const struct hc_command hc_command_merge;

/* These lists are joined; everything else of a record is kept in its part. */
static const char *const lists[] = {"results", "rates", "trainings", "drift"};

enum { LISTS = sizeof lists / sizeof lists[0] };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length > strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* The name of a file without its folders and ".json" or ".baseline". */
static json_t *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    if (ends_with(name, ".json"))
        length -= strlen(".json");
    else if (ends_with(name, HC_BASELINE_ENDING))
        length -= strlen(HC_BASELINE_ENDING);
    return json_stringn(name, length);
}

/* What a merge before said to be missing is found anew. */
static void forget_missing_shards(json_t *document)
{
    json_t *results = json_object_get(document, "results");
    json_t *parts = json_object_get(document, "parts");
    for (size_t i = json_array_size(results); i-- > 0;) {
        const json_t *name = json_object_get(json_array_get(results, i), "case");
        if (strcmp(json_string_value(name), HC_SHARDS_CASE) == 0)
            (void)json_array_remove(results, i);
    }
    for (size_t i = json_array_size(parts); i-- > 0;) {
        const json_t *name = json_object_get(json_array_get(parts, i), "name");
        if (json_is_string(name) && strcmp(json_string_value(name), HC_SHARDS_PART) == 0)
            (void)json_array_remove(parts, i);
    }
}

/* Adds the parts of a record that is merged itself; they are called "<its name>/<their name>". */
static void add_parts(json_t *whole, const json_t *parts, json_t *name)
{
    for (size_t i = 0; i < json_array_size(parts); i++) {
        json_t *part = json_copy(json_array_get(parts, i));
        const char *own = json_string_value(json_object_get(part, "name"));
        (void)json_object_set_new(part, "name",
                                  json_sprintf("%s/%s", json_string_value(name), own ? own : "?"));
        (void)json_array_append_new(json_object_get(whole, "parts"), part);
    }
    json_decref(name);
}

/* Makes a part of what the record has beside its lists, and of the number of its results. */
static void add_part(json_t *whole, const struct hc_record *record, json_t *name)
{
    json_t *part = json_copy(record->document);
    for (int i = 0; i < LISTS; i++)
        (void)json_object_del(part, lists[i]);
    (void)json_object_del(part, "schema");
    (void)json_object_set_new(part, "name", name);
    (void)json_object_set_new(part, "result_count", json_integer(record->count));
    (void)json_array_append_new(json_object_get(whole, "parts"), part);
}

static enum hc_status append(json_t *whole, const char *path)
{
    struct hc_record record;
    enum hc_status status = hc_record_read(path, &record);
    if (status != HC_OK)
        return status;
    forget_missing_shards(record.document);
    if (!json_object_get(whole, "environment"))
        (void)json_object_set(whole, "environment",
                              json_object_get(record.document, "environment"));
    for (int i = 0; i < LISTS; i++) {
        json_t *list = json_object_get(record.document, lists[i]);
        if (!json_is_array(list))
            continue;
        if (!json_object_get(whole, lists[i]))
            (void)json_object_set_new(whole, lists[i], json_array());
        (void)json_array_extend(json_object_get(whole, lists[i]), list);
    }
    if (record.parts[0].name[0])
        add_parts(whole, json_object_get(record.document, "parts"), name_of(path));
    else
        add_part(whole, &record, name_of(path));
    hc_record_free(&record);
    return HC_OK;
}

/* What only all records together show. */
struct seen {
    char missing[300]; /* says which shards are, or is "" */
    char refused[600]; /* says which cases were refused by their numbers, or is "" */
};

/* A result that is in two of the records is found when the new record is read. */
static enum hc_status merge(char **paths, const char *out, struct seen *seen)
{
    struct hc_record record = {0};
    json_t *whole = json_pack("{s:i, s:[], s:[], s:[]}", "schema", HC_RECORD_SCHEMA, lists[0],
                              lists[1], "parts");
    enum hc_status status = whole ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for the record");
    for (; *paths && status == HC_OK; paths++)
        status = append(whole, *paths);
    if (status == HC_OK)
        (void)hc_refusals_judge(whole, seen->refused, sizeof seen->refused);
    if (status == HC_OK)
        status = hc_record_of(out, json_incref(whole), &record);
    if (status == HC_OK) {
        bool baseline = ends_with(out, HC_BASELINE_ENDING);
        bool lacks = hc_shards_mistrust(whole, &record, seen->missing, sizeof seen->missing);
        status = baseline && lacks ? hc_fail(HC_INVALID, "merge: no baseline was written to %s: %s",
                                             out, seen->missing)
                 : baseline        ? hc_baseline_write(&record, out)
                                   : hc_record_write(whole, out);
    }
    hc_record_free(&record);
    json_decref(whole);
    return status;
}

static int run_merge(int argc, char **argv)
{
    int words;
    int status;
    const char *json = NULL;
    struct seen seen = {{0}, {0}};
    const struct hc_option options[] = {
        {.name = "json", .value = "FILE", .text = &json, .help = "the file of the new record"},
        {0},
    };
    if (!hc_read_options(&hc_command_merge, options, argc, argv, &words, &status))
        return status;
    if (!json || words == 0)
        return hc_complain("merge needs --json FILE and records; see: halfcheck merge --help");
    if (hc_output_probe(json) != HC_OK || merge(argv + 1, json, &seen) != HC_OK)
        return hc_complain_message();
    if (seen.refused[0])
        (void)hc_complain("%s", seen.refused);
    if (seen.missing[0])
        (void)hc_complain("the record is MISTRUSTED: %s", seen.missing);
    return seen.refused[0] || seen.missing[0] ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

const struct hc_command hc_command_merge = {
    .name = "merge",
    .usage = "RECORD... --json FILE",
    .summary = "combine several records into one",
    .text =
        "The new record holds the results and rates of all of them, and the environment of the\n"
        "first. Everything else that a record says (how it was run, on what machine, whether it\n"
        "was cut short) goes under \"parts\", with the file's name and the number of its\n"
        "results, so that gate compares part by part. A duplicate result is an error: run each\n"
        "case once.\n\n"
        "Shards of a run (halfcheck run --shard) must all be there. Otherwise the new record\n"
        "says so in a result of its own, " HC_SHARDS_CASE ", which is MISTRUSTED, and the exit\n"
        "status is 1. The status is also 1 if one part took a call, and another part refused one\n"
        "that differs only in its numbers: then the case that was refused is a FAIL.",
    .run = run_merge,
};
