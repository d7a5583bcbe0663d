#include "check/record/shards.h"

#include <stdio.h>
#include <string.h>

#include "check/record/parts.h"
#include "op/text.h"

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
