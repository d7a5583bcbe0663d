#include <stdio.h>
#include <stdlib.h>

#include "check/record/json.h"
#include "cli/gate/conclusion.h"
#include "cli/gate/gate_files.h"
#include "op/memory_stream.h"
#include "op/output.h"

static json_t *date_of(hc_day day)
{
    char text[HC_DAY_TEXT];
    if (!day)
        return json_null();
    hc_day_write(day, text);
    return json_string(text);
}

/* The members that say which allowance it is. */
static json_t *allowance(const struct hc_gate *gate, const struct hc_allowance *one)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "file",
                              one->line ? hc_json_text(gate->allowances.path) : json_null());
    (void)json_object_set_new(o, "line", json_integer(one->line));
    (void)json_object_set_new(o, "pattern", hc_json_text(one->pattern));
    (void)json_object_set_new(o, "kind", json_string(hc_finding_kinds[one->kind].name));
    (void)json_object_set_new(o, "until", date_of(one->until));
    (void)json_object_set_new(o, "reason", hc_json_text(one->reason));
    (void)json_object_set_new(o, "expired", json_boolean(one->expired));
    return o;
}

static json_t *finding(const struct hc_gate *gate, const struct hc_family *family,
                       const struct hc_finding *one)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "group", json_string(hc_findings_group_names[family->group]));
    (void)json_object_set_new(o, "kind", json_string(hc_finding_kinds[family->kind].name));
    (void)json_object_set_new(o, "family", hc_json_text(family->name));
    (void)json_object_set_new(o, "case", hc_json_text(one->name));
    (void)json_object_set_new(o, "backend", hc_json_text(one->backend));
    (void)json_object_set_new(o, "text", hc_json_text(one->text));
    (void)json_object_set_new(o, "repro", hc_json_text(one->repro));
    (void)json_object_set_new(o, "allowed",
                              one->allowed ? allowance(gate, one->allowed) : json_null());
    (void)json_object_set_new(o, "expired",
                              one->expired ? allowance(gate, one->expired) : json_null());
    return o;
}

static json_t *findings_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    struct hc_family family = {0};
    while (hc_findings_next(&gate->findings, &family))
        for (int i = 0; i < family.count; i++)
            (void)json_array_append_new(list, finding(gate, &family, &family.all[i]));
    return list;
}

static json_t *counts_of(const struct hc_gate *gate)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "record", json_integer(gate->record->count));
    (void)json_object_set_new(o, "baseline", json_integer(gate->baseline->count));
    (void)json_object_set_new(o, "compared", json_integer(gate->compared));
    (void)json_object_set_new(o, "same", json_integer(gate->same));
    (void)json_object_set_new(o, "failing_as_before", json_integer(gate->still_bad));
    for (int g = 0; g < HC_FOUND_GROUPS; g++)
        (void)json_object_set_new(
            o, hc_findings_group_names[g],
            json_integer(hc_findings_count(&gate->findings, (enum hc_findings_group)g)));
    (void)json_object_set_new(o, "allowed", json_integer(hc_findings_allowed(&gate->findings)));
    return o;
}

static json_t *changes_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *c = &gate->changes[i];
        json_t *o = json_object();
        (void)json_object_set_new(o, "part", hc_json_text(c->part));
        (void)json_object_set_new(o, "key", hc_json_text(c->key));
        (void)json_object_set_new(o, "was", json_loads(c->was, JSON_DECODE_ANY, NULL));
        (void)json_object_set_new(o, "is", json_loads(c->is, JSON_DECODE_ANY, NULL));
        (void)json_array_append_new(list, o);
    }
    return list;
}

/* What was compared by statistics, of each recipe. */
static json_t *notes_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    for (int i = 0; i < gate->note_count; i++) {
        const struct hc_gate_note *note = &gate->notes[i];
        json_t *o = json_object();
        (void)json_object_set_new(o, "name", hc_json_text(note->name));
        (void)json_object_set_new(o, "backend", hc_json_text(note->backend));
        (void)json_object_set_new(o, "answer", note->word ? json_string(note->word) : json_null());
        (void)json_object_set_new(o, "text", hc_json_text(note->text));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *allowances_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    for (int i = 0; i < gate->allowances.count; i++) {
        json_t *o = allowance(gate, &gate->allowances.all[i]);
        (void)json_object_set_new(o, "findings", json_integer(gate->allowances.all[i].used));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *document_of(const struct hc_gate *gate, const struct hc_gate_paths *paths)
{
    char reason[1024];
    json_t *o = json_object();
    json_t *patterns = json_array();
    for (int i = 0; i < gate->pattern_count; i++)
        (void)json_array_append_new(patterns, hc_json_text(gate->patterns[i]));
    hc_gate_reason(gate, paths->baseline, reason, sizeof reason);
    (void)json_object_set_new(o, "schema", json_integer(1));
    (void)json_object_set_new(o, "verdict", json_string(hc_gate_passes(gate) ? "PASS" : "FAIL"));
    (void)json_object_set_new(o, "reason", hc_json_text(reason));
    (void)json_object_set_new(o, "baseline", hc_json_text(paths->baseline));
    (void)json_object_set_new(o, "record", hc_json_text(paths->record));
    (void)json_object_set_new(o, "patterns", patterns);
    (void)json_object_set_new(o, "growth", hc_json_real(gate->growth));
    (void)json_object_set_new(o, "counts", counts_of(gate));
    (void)json_object_set_new(o, "changes", changes_of(gate));
    (void)json_object_set_new(o, "findings", findings_of(gate));
    (void)json_object_set_new(o, "notes", notes_of(gate));
    (void)json_object_set_new(o, "allowances", allowances_of(gate));
    return o;
}

enum hc_status hc_gate_json(const struct hc_gate *gate, const struct hc_gate_paths *paths,
                            const char *file)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = hc_memory_stream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "gate: no memory for the document");
    json_t *document = document_of(gate, paths);
    enum hc_status status = hc_json_print(out, document);
    json_decref(document);
    bool whole = fclose(out) == 0;
    if (status == HC_OK && !whole)
        status = hc_fail(HC_NO_MEMORY, "gate: no memory for the document");
    if (status == HC_OK)
        status = hc_output_write(file, text, length);
    free(text);
    return status;
}
