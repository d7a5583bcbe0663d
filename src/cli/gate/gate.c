#include "cli/gate/gate.h"

#include <stdlib.h>
#include <string.h>

#include "check/record/former.h"
#include "check/record/environment.h"
#include "check/record/parts.h"
#include "check/runner.h"

static const struct hc_gate_way *const ways[] = {&hc_gate_training, &hc_gate_drift,
                                                 &hc_gate_fingerprint, &hc_gate_rows};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* A case may be meant by its name or by the one that it had in the version before. */
static bool chooses(const char *const *patterns, int count, const char *name)
{
    hc_case_name former;
    return hc_matches(patterns, count, name) ||
           (hc_former_name(name, former) && hc_matches(patterns, count, former));
}

bool hc_gate_chooses(const struct hc_gate *gate, const char *name)
{
    return chooses(gate->patterns, gate->pattern_count, name);
}

/* Whether the pattern names a recipe that was trained, or whose drift was measured: these are
   compared as a whole, whatever the names of their results. */
static bool has_recipe(const struct hc_record *record, const char *pattern)
{
    static const char *const lists[][2] = {{"trainings", "train"}, {"drift", "drift"}};
    for (int l = 0; l < 2; l++) {
        const json_t *list = json_object_get(record->document, lists[l][0]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            char name[512];
            const json_t *recipe = json_object_get(json_array_get(list, i), "recipe");
            (void)snprintf(name, sizeof name, "%s/%s", lists[l][1],
                           json_is_string(recipe) ? json_string_value(recipe) : "");
            if (hc_matches(&pattern, 1, name))
                return true;
        }
    }
    return false;
}

static bool chooses_fingerprint(const void *pattern, const char *name, const char *backend)
{
    const char *one = pattern;
    (void)backend;
    return chooses(&one, 1, name);
}

static bool has_choice(const struct hc_record *record, const char *pattern)
{
    if (has_recipe(record, pattern))
        return true;
    for (int i = 0; i < record->count; i++)
        if (chooses(&pattern, 1, record->rows[i].name))
            return true;
    return hc_gate_has_fingerprint(record, chooses_fingerprint, pattern);
}

/* Recipes are found and noted by names that no result has. */
static bool is_noted(const struct hc_gate *gate, const char *pattern)
{
    for (int i = 0; i < gate->findings.count; i++)
        if (chooses(&pattern, 1, gate->findings.all[i].name))
            return true;
    for (int i = 0; i < gate->note_count; i++)
        if (chooses(&pattern, 1, gate->notes[i].name))
            return true;
    return false;
}

enum hc_status hc_gate_check_patterns(const struct hc_gate *gate)
{
    for (int p = 0; p < gate->pattern_count; p++)
        if (!has_choice(gate->baseline, gate->patterns[p]) &&
            !has_choice(gate->record, gate->patterns[p]) && !is_noted(gate, gate->patterns[p]))
            return hc_fail(HC_INVALID, "gate: no result of either record matches '%s'",
                           gate->patterns[p]);
    return HC_OK;
}

bool hc_gate_is_owned(const struct hc_gate *gate, const struct hc_row *row)
{
    for (int w = 0; w < WAYS; w++)
        if (ways[w]->owns && ways[w]->applies(gate) && ways[w]->owns(row))
            return true;
    return false;
}

/* Older records tell of a fault only in their repro lines. */
enum hc_status hc_gate_check_whole(const char *path, const struct hc_record *record)
{
    for (int p = 0; p < record->part_count; p++) {
        const struct hc_record_part *part = &record->parts[p];
        const char *slash = part->name[0] ? ", part " : "";
        if (part->cut)
            return hc_fail(HC_INVALID, "gate: %s%s%s was cut short: %s", path, slash, part->name,
                           part->cut);
        if (part->fault)
            return hc_fail(HC_INVALID, "gate: %s%s%s has the planted fault %s", path, slash,
                           part->name, part->fault);
    }
    const struct hc_row *shards = hc_record_find(record, HC_SHARDS_CASE, "-");
    if (shards && shards->verdict != HC_PASS)
        return hc_fail(HC_INVALID, "gate: %s is not whole: %s", path, shards->note);
    for (int i = 0; i < record->count; i++)
        if (strstr(record->rows[i].repro, " --fault "))
            return hc_fail(HC_INVALID, "gate: %s: the result %s has a planted fault", path,
                           record->rows[i].name);
    return HC_OK;
}

static void add_change(struct hc_gate *gate, const char *part, const char *key, const json_t *was,
                       const json_t *is)
{
    size_t count = (size_t)gate->change_count;
    struct hc_gate_change *changes = realloc(gate->changes, (count + 1) * sizeof *changes);
    struct hc_gate_change one = {.part = part,
                                 .key = key,
                                 .was = was ? json_dumps(was, JSON_ENCODE_ANY) : strdup("null"),
                                 .is = is ? json_dumps(is, JSON_ENCODE_ANY) : strdup("null")};
    if (changes)
        gate->changes = changes;
    if (changes && one.was && one.is) {
        changes[gate->change_count++] = one;
        return;
    }
    free(one.was);
    free(one.is);
    gate->findings.no_memory = true;
}

/* The baseline's part with that name, or its first one. */
static const struct hc_record_part *part_named(const struct hc_record *record, const char *name)
{
    int p = record->part_count - 1;
    while (p > 0 && strcmp(record->parts[p].name, name) != 0)
        p--;
    return &record->parts[p];
}

/* Fingerprints are compared apart (gate_fingerprint.c). */
static bool is_reported(const char *key)
{
    return strcmp(key, "date") != 0 && strcmp(key, HC_FINGERPRINT_MEMBER) != 0;
}

static void compare_members(struct hc_gate *gate, const char *part, const json_t *was,
                            const json_t *is)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)is, key, value)
    {
        const json_t *before = json_object_get(was, key);
        if (is_reported(key) && !json_equal(before, value))
            add_change(gate, part, key, before, value);
    }
    json_object_foreach((json_t *)was, key, value)
    {
        if (is_reported(key) && !json_object_get(is, key))
            add_change(gate, part, key, value, NULL);
    }
}

/* One version of halfcheck always writes the same members of an environment, null where it knows
   nothing. So a member that one side lacks was taken out, and with it the reason why other results
   are others. */
static void find_lacking(struct hc_gate *gate, const char *part, const json_t *was,
                         const json_t *is, const char *side)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)was, key, value)
    {
        if (is_reported(key) && !json_object_get(is, key))
            hc_findings_add(&gate->findings, HC_FINDING_UNKNOWN, "environment", part,
                            "the %s does not say its %s, and the other side does", side, key);
    }
}

static bool is_of_one_version(const json_t *was, const json_t *is)
{
    const json_t *before = json_object_get(was, "halfcheck");
    const json_t *after = json_object_get(is, "halfcheck");
    return was && is && (!before || !after || json_equal(before, after));
}

static void compare_environment(struct hc_gate *gate, const char *part, const json_t *was,
                                const json_t *is)
{
    compare_members(gate, part, was, is);
    if (!is_of_one_version(was, is))
        return;
    find_lacking(gate, part, was, is, "record");
    find_lacking(gate, part, is, was, "baseline");
}

/* Whether the part has a result of the backend that it can have had there alone. */
static bool has_run(const struct hc_record *record, const struct hc_record_part *part,
                    const char *backend)
{
    for (int i = 0; i < record->count; i++) {
        enum hc_verdict verdict = hc_row_verdict(&record->rows[i]);
        if (&record->parts[record->rows[i].part] == part && verdict != HC_SKIPPED &&
            verdict != HC_UNIMPLEMENTED && strcmp(record->rows[i].backend, backend) == 0)
            return true;
    }
    return false;
}

/* A backend that has run says the same of itself each time. What one side lacks of it was taken
   out, or `backends` as a whole. */
static void find_silent(struct hc_gate *gate, const struct hc_record *says,
                        const struct hc_record *lacks, const char *side)
{
    for (int p = 0; p < says->part_count; p++) {
        const struct hc_record_part *one = &says->parts[p];
        const struct hc_record_part *other = part_named(lacks, one->name);
        const char *backend;
        json_t *facts;
        if (!is_of_one_version(one->environment, other->environment))
            continue;
        json_object_foreach((json_t *)one->backends, backend, facts)
        {
            if (!json_object_get(other->backends, backend) && has_run(says, one, backend) &&
                has_run(lacks, other, backend))
                hc_findings_add(&gate->findings, HC_FINDING_UNKNOWN, "backends", backend,
                                "the %s does not say what its backend is, and the other side does",
                                side);
        }
    }
}

/* Parts of merged records are matched by their names. */
static void compare_environments(struct hc_gate *gate)
{
    const char *backend;
    json_t *facts;
    for (int p = 0; p < gate->record->part_count; p++) {
        const struct hc_record_part *part = &gate->record->parts[p];
        compare_environment(gate, part->name, part_named(gate->baseline, part->name)->environment,
                            part->environment);
    }
    json_object_foreach((json_t *)gate->record->backends, backend, facts)
    {
        const json_t *before = json_object_get(gate->baseline->backends, backend);
        if (before)
            compare_members(gate, backend, before, facts);
    }
    find_silent(gate, gate->baseline, gate->record, "record");
    find_silent(gate, gate->record, gate->baseline, "baseline");
}

enum hc_status hc_gate_compare(struct hc_gate *gate)
{
    enum hc_status status = HC_OK;
    compare_environments(gate);
    for (int w = 0; w < WAYS && status == HC_OK; w++)
        if (ways[w]->applies(gate))
            status = ways[w]->compare(gate);
    if (status == HC_OK && gate->findings.no_memory)
        status = hc_fail(HC_NO_MEMORY, "gate: no memory for the findings");
    if (status == HC_OK)
        status =
            hc_allowances_check(&gate->allowances, gate->baseline, gate->record, &gate->findings);
    hc_allowances_apply(&gate->allowances, &gate->findings);
    hc_findings_sort(&gate->findings);
    return status;
}

void hc_gate_free(struct hc_gate *gate)
{
    for (int i = 0; i < gate->change_count; i++) {
        free(gate->changes[i].was);
        free(gate->changes[i].is);
    }
    free(gate->changes);
    gate->changes = NULL;
    gate->change_count = 0;
    hc_gate_notes_free(gate);
    hc_findings_free(&gate->findings);
    hc_allowances_free(&gate->allowances);
}
