/* The fingerprints of two records (check/record/environment.h): how the gemm of each backend sums.

   One that is another now is a finding "fingerprint/<format>" of its backend; one that the record
   lacks, though it has results of that backend, is, too. One that only the record has is new. A
   part of a merged record is compared with the baseline's part of its name, or, if none of that
   name has the fingerprint, with all that have it: names are those of files, which may change. */
#include "cli/gate/gate.h"

#include <stdio.h>
#include <string.h>

#include "check/record/environment.h"
#include "check/record/parts.h"
#include "op/text.h"

/* The fingerprint of a backend in a format, whatever the records say of it. */
struct one {
    const char *key; /* "cuda fp16" */
    char name[48];   /* "fingerprint/fp16" */
    char backend[96];
};

static struct one one_of(const char *key)
{
    struct one one = {.key = key};
    const char *blank = strrchr(key, ' '); /* which reading has made sure of */
    (void)snprintf(one.name, sizeof one.name, "fingerprint/%s", blank + 1);
    (void)snprintf(one.backend, sizeof one.backend, "%.*s", (int)(blank - key), key);
    return one;
}

static json_t *fingerprints(const struct hc_record *record, int part)
{
    return json_object_get(record->parts[part].environment, HC_FINGERPRINT_MEMBER);
}

/* What the first of the parts before `end` that has the fingerprint says; NULL: none has it. */
static const char *find_fingerprint(const struct hc_record *record, int end, const char *key)
{
    const char *text = NULL;
    for (int p = 0; p < end && !text; p++)
        text = json_string_value(json_object_get(fingerprints(record, p), key));
    return text;
}

static bool has_any(const struct hc_record *record)
{
    int p = 0;
    while (p < record->part_count && json_object_size(fingerprints(record, p)) == 0)
        p++;
    return p < record->part_count;
}

static bool applies(const struct hc_gate *gate)
{
    return has_any(gate->baseline) || has_any(gate->record);
}

/* Whether the part, or any if it is -1, has results of the backend. */
static bool has_results(const struct hc_record *record, int part, const char *backend)
{
    for (int i = 0; i < record->count; i++)
        if ((part < 0 || record->rows[i].part == part) &&
            strcmp(record->rows[i].backend, backend) == 0)
            return true;
    return false;
}

/* What the part says; "": nothing, though it has results of the backend; NULL: nothing. */
static const char *fingerprint_of(const struct hc_record *record, int part, const struct one *one)
{
    const char *text = json_string_value(json_object_get(fingerprints(record, part), one->key));
    if (text)
        return text;
    return has_results(record, part, one->backend) ? "" : NULL;
}

/* The baseline's part of the same name as the record's, if it says what `is` can be compared with;
   or -1. Of several of that name, the one in the same place is the first choice. */
static int part_named(const struct hc_gate *gate, int part, const struct one *one, const char *is)
{
    const struct hc_record *baseline = gate->baseline;
    for (int i = 0; i < baseline->part_count; i++) {
        int p = (part + i) % baseline->part_count;
        if (strcmp(baseline->parts[p].name, gate->record->parts[part].name) != 0)
            continue;
        const char *was = fingerprint_of(baseline, p, one);
        if (was && (was[0] || !is[0]))
            return p;
    }
    return -1;
}

/* Adds a finding, but not what another part has led to already. */
static void add_difference(struct hc_findings *findings, int from, const struct one *one,
                           const char *is, const char *was)
{
    char text[600];
    (void)hc_text_write(text, sizeof text, "%s, was %s", is[0] ? is : "none in the record", was);
    for (int i = from; i < findings->count; i++)
        if (strcmp(findings->all[i].text, text) == 0)
            return;
    hc_findings_add(findings, HC_FINDING_FINGERPRINT, one->name, one->backend, "%s", text);
}

static void compare_part(struct hc_gate *gate, int from, const struct one *one, int part)
{
    const struct hc_record *baseline = gate->baseline;
    const char *is = fingerprint_of(gate->record, part, one);
    if (!is)
        return;
    int named = part_named(gate, part, one, is);
    const char *other = NULL;
    bool same = false;
    for (int p = 0; p < baseline->part_count; p++) {
        const char *was = named < 0 || p == named ? fingerprint_of(baseline, p, one) : NULL;
        if (!was)
            continue;
        same |= strcmp(was, is) == 0;
        if (was[0] && strcmp(was, is) != 0 && !other)
            other = was;
    }
    if (other && (is[0] || !same))
        add_difference(&gate->findings, from, one, is, other);
}

/* Compares a fingerprint that the baseline has, in all parts of the record. */
static void compare_one(struct hc_gate *gate, const struct one *one, bool alone)
{
    const struct hc_record *record = gate->record;
    int from = gate->findings.count;
    bool has = find_fingerprint(record, record->part_count, one->key) != NULL;
    for (int p = 0; p < record->part_count && has; p++)
        compare_part(gate, from, one, p);
    if (!has && has_results(record, -1, one->backend))
        add_difference(&gate->findings, from, one, "",
                       find_fingerprint(gate->baseline, gate->baseline->part_count, one->key));
    if (alone && has) {
        gate->compared++;
        gate->judged++;
        gate->same += gate->findings.count == from;
    }
}

/* Whether the patterns choose nothing but fingerprints, which count as results only then. */
static bool is_alone(const struct hc_gate *gate)
{
    const struct hc_record *sides[] = {gate->baseline, gate->record};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->count; i++)
            if (hc_gate_chooses(gate, sides[s]->rows[i].name))
                return false;
    return gate->pattern_count > 0 && gate->compared == 0;
}

static enum hc_status compare_fingerprints(struct hc_gate *gate)
{
    const struct hc_record *sides[] = {gate->record, gate->baseline};
    bool alone = is_alone(gate);
    for (int s = 0; s < 2; s++)
        for (int p = 0; p < sides[s]->part_count; p++) {
            const char *key;
            json_t *text;
            json_object_foreach(fingerprints(sides[s], p), key, text)
            {
                struct one one = one_of(key);
                if (find_fingerprint(sides[s], p, key) ||
                    (gate->pattern_count && !hc_gate_chooses(gate, one.name)))
                    continue;
                gate->fingerprints[s] += alone;
                if (sides[s] == gate->baseline)
                    compare_one(gate, &one, alone);
                else if (!find_fingerprint(gate->baseline, gate->baseline->part_count, key))
                    hc_findings_add(&gate->findings, HC_FINDING_NEW, one.name, one.backend,
                                    "a fingerprint that the baseline lacks");
            }
        }
    return HC_OK;
}

bool hc_gate_has_fingerprint(const struct hc_record *record,
                             bool (*fits)(const void *what, const char *name, const char *backend),
                             const void *what)
{
    for (int p = 0; p < record->part_count; p++) {
        const char *key;
        json_t *text;
        json_object_foreach(fingerprints(record, p), key, text)
        {
            struct one one = one_of(key);
            if (fits(what, one.name, one.backend))
                return true;
        }
    }
    return false;
}

const struct hc_gate_way hc_gate_fingerprint = {.applies = applies,
                                                .compare = compare_fingerprints};
