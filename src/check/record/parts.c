/* The parts of a record, and which of its results are theirs. Records of three kinds are read: one
   that was not merged is its own only part; a merged one says of each part how many results are its
   own; a merged one of an older halfcheck does not, and is taken for one part, with the level that
   all its parts have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/parts.h"
#include "check/record/environment.h"
#include "check/record/facts.h"
#include "check/record/shard.h"
#include "op/text.h"

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

/* Reads the part's shard, if it has one. What is wrong with it, or NULL. */
static const char *read_shard(const json_t *o, struct hc_record_part *part)
{
    const json_t *index = json_object_get(o, "index");
    const json_t *of = json_object_get(o, "of");
    if (!o)
        return NULL;
    part->plan = json_string_value(json_object_get(o, "plan"));
    if (!part->plan || !json_is_integer(index) || !json_is_integer(of) ||
        json_integer_value(index) < 1 || json_integer_value(index) > json_integer_value(of) ||
        json_integer_value(of) > HC_MAX_SHARDS)
        return "in \"run\", \"shard\" is not one of so many";
    part->shard = (int)json_integer_value(index);
    part->shards = (int)json_integer_value(of);
    return NULL;
}

/* Reads a part from an object that has "run" or, in older records, "level". What is wrong with
   it, or NULL. */
static const char *read_part(const json_t *o, const char *name, struct hc_record_part *part)
{
    static const char *const lists[] = {"command", "patterns", "backends", "faults"};
    const json_t *run = json_object_get(o, "run");
    *part = (struct hc_record_part){.name = name,
                                    .environment = json_object_get(o, "environment"),
                                    .backends = json_object_get(o, "backends"),
                                    .left_out = json_object_get(o, "left_out"),
                                    .run = run,
                                    .level = json_string_value(json_object_get(o, "level"))};
    const char *wrong = hc_environment_wrong(part->environment);
    if (!wrong)
        wrong = hc_facts_wrong(part->backends);
    if (wrong || !run)
        return wrong;
    if (!json_is_object(run))
        return "\"run\" is not an object";
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (!are_texts(json_object_get(run, lists[i])))
            return "in \"run\", \"command\", \"patterns\", \"backends\" or \"faults\" is not a "
                   "list "
                   "of strings";
    if (!is_text_or_null(json_object_get(run, "level")) ||
        !is_text_or_null(json_object_get(run, "cut")) ||
        !json_is_string(json_object_get(run, "seed")))
        return "in \"run\", \"level\", \"seed\" or \"cut\" is not a string";
    part->patterns = json_object_get(run, "patterns");
    part->level = json_string_value(json_object_get(run, "level"));
    part->cut = json_string_value(json_object_get(run, "cut"));
    part->fault = json_string_value(json_array_get(json_object_get(run, "faults"), 0));
    return read_shard(json_object_get(run, "shard"), part);
}

/* The level of the parts of an older merged record, if all that have one have the same. */
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

/* Whether the parts say how many results are theirs: 1 if all do, 0 if none does, -1 if the numbers
   do not add up to `count`. */
static int have_counts(const json_t *parts, int count)
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
    int counted = parts ? have_counts(parts, record->count) : 0;
    record->part_count = counted > 0 ? (int)json_array_size(parts) : 1;
    record->parts = calloc((size_t)record->part_count, sizeof *record->parts);
    if (!record->parts)
        return "no memory for its parts";
    if (counted < 0)
        return "the parts' \"result_count\" are not the number of results";
    if (counted > 0 && json_object_get(record->document, "run"))
        return "it has parts, and also a \"run\" of its own";
    if (counted > 0)
        return read_parts(record, parts);
    const char *wrong = read_part(record->document, "", &record->parts[0]);
    if (parts)
        record->parts[0].level = common_level(parts);
    return wrong;
}

static void append(char *text, size_t bytes, const char *words)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, "%s", words);
}

static const struct hc_record_part *find(const struct hc_record *record, const char *plan,
                                         int shard)
{
    for (int p = 0; p < record->part_count; p++)
        if (record->parts[p].plan && strcmp(record->parts[p].plan, plan) == 0 &&
            (shard == 0 || record->parts[p].shard == shard))
            return &record->parts[p];
    return NULL;
}

/* How many shards the plan of a part lacks, of which *first is the first; adds "shards 3, 7 of 16
   are missing". A long list is cut. */
static int missing_shards(const struct hc_record *record, const struct hc_record_part *of,
                          int *first, char *text, size_t bytes)
{
    enum { LISTED = 8 };
    int lacking[LISTED];
    char word[64];
    int missing = 0;
    for (int s = 1; s <= of->shards; s++) {
        if (find(record, of->plan, s))
            continue;
        if (missing < LISTED)
            lacking[missing] = s;
        missing++;
    }
    if (!missing)
        return 0;
    *first = lacking[0];
    append(text, bytes, text[0] ? "; " : "");
    append(text, bytes, missing == 1 ? "shard" : "shards");
    for (int i = 0; i < missing && i < LISTED; i++) {
        (void)snprintf(word, sizeof word, "%s %d", i ? "," : "", lacking[i]);
        append(text, bytes, word);
    }
    (void)snprintf(word, sizeof word, "%s of %d %s missing", missing > LISTED ? ", ..." : "",
                   of->shards, missing == 1 ? "is" : "are");
    append(text, bytes, word);
    return missing;
}

/* How many of the backends that the plan of a part was to run on have no result in any of its
   shards. One shard may well have none. */
static int idle_backends(const struct hc_record *record, const struct hc_record_part *of,
                         char *text, size_t bytes)
{
    int idle = 0;
    const json_t *backends = json_object_get(of->run, "backends");
    for (size_t b = 0; b < json_array_size(backends); b++) {
        const char *name = json_string_value(json_array_get(backends, b));
        bool ran = false;
        for (int i = 0; i < record->count && !ran; i++) {
            const char *plan = record->parts[record->rows[i].part].plan;
            ran = plan && strcmp(plan, of->plan) == 0 && strcmp(record->rows[i].backend, name) == 0;
        }
        if (ran)
            continue;
        append(text, bytes, text[0] ? "; nothing was checked on " : "nothing was checked on ");
        append(text, bytes, name);
        idle++;
    }
    return idle;
}

/* The command that makes shard `index`, after that of another shard of the same plan; its --json
   names the other's file, and is left out. */
static void command(char *line, size_t bytes, const json_t *words, int index, int of)
{
    char word[1024];
    char shard[32];
    (void)snprintf(shard, sizeof shard, "%d/%d", index, of);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *text = json_string_value(json_array_get(words, i));
        if (strcmp(text, "--json") == 0 || strcmp(text, "--shard") == 0)
            i++;
        else if (strncmp(text, "--json=", 7) != 0 && strncmp(text, "--shard=", 8) != 0) {
            (void)hc_text_shell(word, sizeof word, text);
            append(line, bytes, word);
            append(line, bytes, " ");
        }
    }
    append(line, bytes, "--shard ");
    append(line, bytes, shard);
}

bool hc_shards_mistrust(json_t *document, const struct hc_record *record, char *text, size_t bytes)
{
    char repro[4096] = "";
    int lacking = 0;
    text[0] = '\0';
    for (int p = 0; p < record->part_count; p++) {
        const struct hc_record_part *part = &record->parts[p];
        int first = 0;
        if (!part->plan || find(record, part->plan, 0) != part)
            continue;
        int missing = missing_shards(record, part, &first, text, bytes);
        if (missing && !repro[0])
            command(repro, sizeof repro, json_object_get(part->run, "command"), first,
                    part->shards);
        lacking += missing ? missing : idle_backends(record, part, text, bytes);
    }
    if (!lacking)
        return false;
    struct hc_row row = hc_row_claim(HC_SHARDS_CASE, "-", HC_MISTRUSTED, lacking, 0, "claims");
    row.note = text;
    row.repro = repro;
    hc_record_add(document, &row);
    (void)json_array_append_new(json_object_get(document, "parts"),
                                json_pack("{s:s, s:i, s:O}", "name", HC_SHARDS_PART, "result_count",
                                          1, "environment", record->environment));
    return true;
}
