#include "cli/gate/gate_fingerprint.h"

#include <stdio.h>
#include <string.h>

#include "check/record/parts.h"

static const json_t *fingerprints(const json_t *environment)
{
    const json_t *all = json_object_get(environment, HC_FINGERPRINT_MEMBER);
    return json_is_object(all) ? all : NULL;
}

static bool applies(const struct hc_gate *gate)
{
    for (int p = 0; p < gate->baseline->part_count; p++)
        if (json_object_size(fingerprints(gate->baseline->parts[p].environment)) > 0)
            return true;
    return false;
}

/* Whether the part has results of the backend. */
static bool has_results(const struct hc_record *record, int part, const char *backend)
{
    for (int i = 0; i < record->count; i++)
        if (record->rows[i].part == part && strcmp(record->rows[i].backend, backend) == 0)
            return true;
    return false;
}

/* The record's part of that name, or its only one. */
static int part_named(const struct hc_record *record, const char *name)
{
    int p = record->part_count - 1;
    while (p > 0 && strcmp(record->parts[p].name, name) != 0)
        p--;
    return p;
}

static void compare_one(struct hc_gate *gate, int part, const char *key, const json_t *was,
                        const json_t *is)
{
    char name[48];
    char backend[96];
    const char *blank = strrchr(key, ' ');
    if (!blank || !json_is_string(was))
        return;
    (void)snprintf(name, sizeof name, "fingerprint/%s", blank + 1);
    (void)snprintf(backend, sizeof backend, "%.*s", (int)(blank - key), key);
    if (gate->pattern_count && !hc_gate_chooses(gate, name))
        return;
    if (json_is_string(is) && strcmp(json_string_value(is), json_string_value(was)) != 0)
        hc_findings_add(&gate->findings, HC_FINDING_FINGERPRINT, name, backend, "%s, was %s",
                        json_string_value(is), json_string_value(was));
    else if (!json_is_string(is) && has_results(gate->record, part, backend))
        hc_findings_add(&gate->findings, HC_FINDING_FINGERPRINT, name, backend,
                        "none in the record, was %s", json_string_value(was));
}

static enum hc_status compare(struct hc_gate *gate)
{
    for (int p = 0; p < gate->baseline->part_count; p++) {
        const struct hc_record_part *part = &gate->baseline->parts[p];
        int other = part_named(gate->record, part->name);
        const json_t *is = fingerprints(gate->record->parts[other].environment);
        const char *key;
        json_t *was;
        json_object_foreach((json_t *)fingerprints(part->environment), key, was)
            compare_one(gate, other, key, was, json_object_get(is, key));
    }
    return HC_OK;
}

const struct hc_gate_way hc_gate_fingerprint = {.applies = applies, .compare = compare};
