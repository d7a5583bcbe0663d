#include "check/record/invocation.h"

#include "check/record/json.h"

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
    if (run->bits_only)
        (void)json_object_set_new(o, "bits_only", json_true());
    if (run->ranks > 1)
        (void)json_object_set_new(o, "ranks", json_integer(run->ranks));
    if (run->shard)
        (void)json_object_set_new(
            o, "shard",
            json_pack("{s:i, s:i, s:o}", "index", run->shard->index, "of", run->shard->of, "plan",
                      json_sprintf("%016llx", (unsigned long long)run->shard->plan)));
    (void)json_object_set_new(record, "run", o);
}
