#include "cli/gate/gate_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/record/parts.h"
#include "op/text.h"

static bool is_silent(enum hc_verdict verdict)
{
    return verdict == HC_SKIPPED || verdict == HC_UNIMPLEMENTED || verdict == HC_MISTRUSTED;
}

static bool is_bad(enum hc_verdict verdict)
{
    return verdict == HC_FAIL || verdict == HC_ERROR;
}

static void find_lost(struct hc_gate *c, const struct hc_row *is, const char *was)
{
    char text[HC_GATE_TEXT];
    char note[400] = "";
    if (hc_row_verdict(is) != is->verdict && is->wrong > 0)
        (void)snprintf(note, sizeof note, " (it says PASS, but %lld of its %lld comparisons fail)",
                       (long long)is->wrong, (long long)is->checked);
    else if (hc_row_verdict(is) != is->verdict)
        (void)hc_text_write(note, sizeof note,
                            " (it says PASS, but its error is %g and its bound %g)",
                            fabs(is->error), fabs(is->bound));
    else if (is->note[0])
        (void)snprintf(note, sizeof note, ": %s", is->note);
    (void)snprintf(text, sizeof text, "%s, %s%s", hc_verdict_names[hc_row_verdict(is)], was, note);
    hc_gate_find(c, is->verdict == HC_SKIPPED ? HC_FINDING_MACHINE : HC_FINDING_VERDICT, is,
                 hc_ratio(is->error, is->bound), text);
}

/* A result that goes on failing is worse only in so far as it is to be explained: somebody has
   allowed it, and until when. */
static void find_known(struct hc_gate *c, const struct hc_row *is)
{
    char words[HC_GATE_TEXT];
    for (int i = 0; i < c->allowances.count; i++) {
        const struct hc_allowance *one = &c->allowances.all[i];
        if (one->kind != HC_FINDING_VERDICT || !hc_allowance_matches(one, is->name, is->backend))
            continue;
        (void)snprintf(words, sizeof words, "%s, as before", hc_verdict_names[hc_row_verdict(is)]);
        hc_gate_find(c, HC_FINDING_VERDICT, is, hc_ratio(is->error, is->bound), words);
        return;
    }
}

static void compare_rows(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    enum hc_verdict before = hc_row_verdict(was);
    enum hc_verdict after = hc_row_verdict(is);
    char words[HC_GATE_TEXT];
    bool said = before == HC_PASS || before == HC_FAIL;
    bool bad = is_bad(after);
    if (hc_gate_is_bits(c->record, is)) {
        int found = c->findings.count;
        hc_gate_compare_bits_alone(c, was, is);
        if (is_bad(before) && c->findings.count == found)
            find_known(c, was);
        return;
    }
    if (after == before && said)
        hc_gate_compare_numbers(c, was, is);
    if (after == before && bad)
        find_known(c, is);
    if (after == before)
        return;
    if (after == HC_PASS || (is_silent(after) && !said)) {
        (void)snprintf(words, sizeof words, "%s, was %s", hc_verdict_names[after],
                       hc_verdict_names[before]);
        hc_gate_find(c, after == HC_PASS ? HC_FINDING_BETTER : HC_FINDING_CHANGED, is, 0, words);
        return;
    }
    (void)snprintf(words, sizeof words, "was %s", hc_verdict_names[before]);
    find_lost(c, is, words);
}

/* Compares two results and counts them. */
static void count_rows(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    int before = c->findings.count;
    bool bits = hc_gate_is_bits(c->record, is);
    enum hc_verdict after = hc_row_verdict(bits ? was : is);
    compare_rows(c, was, is);
    bool same = c->findings.count == before;
    c->compared++;
    c->judged += bits || !is_silent(after);
    c->same += same;
    c->still_bad += same && is_bad(after);
}

/* Whether the backend left out cases of the row's component in this part. */
static bool is_left_out(const struct hc_record_part *part, const struct hc_row *row)
{
    char component[80];
    (void)snprintf(component, sizeof component, "%.*s", (int)strcspn(row->name, "/"), row->name);
    const json_t *of_backend = json_object_get(part->left_out, row->backend);
    return json_object_get(json_object_get(of_backend, component), "why") != NULL;
}

/* The record lacks the result, perhaps because its machine has no such backend. The reason is the
   same for as many as it can be, so that they are told together. */
static void find_missing(struct hc_gate *c, const struct hc_row *was)
{
    char passed[40] = "";
    const char *where = "the record";
    bool left_out = false;
    for (int p = 0; p < c->record->part_count; p++) {
        const struct hc_record_part *part = &c->record->parts[p];
        const char *why = json_string_value(json_object_get(part->left_out, was->backend));
        if (why) {
            hc_findings_add(&c->findings, HC_FINDING_MACHINE, was->name, was->backend,
                            "%s could not run on that machine: %s", was->backend, why);
            return;
        }
        left_out |= is_left_out(part, was);
    }
    const struct hc_record_part *first = &c->record->parts[0];
    if (c->record->count == 0)
        where = "the record, which is empty";
    else if (c->record->part_count == 1 && first->plan)
        where = "the record, which is one shard of a run";
    else if (c->record->part_count == 1 && json_array_size(first->patterns) > 0)
        where = "the record, a run of some cases";
    if (was->verdict != HC_PASS)
        (void)snprintf(passed, sizeof passed, " (was %s)", hc_verdict_names[was->verdict]);
    hc_findings_add(&c->findings, HC_FINDING_MISSING, was->name, was->backend,
                    "missing from %s%s%s%s", where, passed,
                    left_out && c->record->count ? "; cases like it were left out there by " : "",
                    left_out && c->record->count ? was->backend : "");
}

static void find_new(struct hc_gate *c, const struct hc_row *is)
{
    enum hc_verdict verdict = hc_row_verdict(is);
    if (is_bad(verdict))
        find_lost(c, is, "and new");
    else
        hc_findings_add(&c->findings, HC_FINDING_NEW, is->name, is->backend,
                        "%s, and not in the baseline", hc_verdict_names[verdict]);
}

/* Whether the row is compared here. */
static bool is_ours(const struct hc_gate *c, const struct hc_row *row)
{
    return hc_gate_chooses(c, row->name) && !hc_gate_is_owned(c, row);
}

static enum hc_status compare(struct hc_gate *c)
{
    for (int i = 0; i < c->baseline->count; i++) {
        const struct hc_row *was = &c->baseline->rows[i];
        const struct hc_row *is = hc_record_find(c->record, was->name, was->backend);
        if (!is_ours(c, was))
            continue;
        if (is)
            count_rows(c, was, is);
        else
            find_missing(c, was);
    }
    for (int i = 0; i < c->record->count; i++) {
        const struct hc_row *is = &c->record->rows[i];
        if (is_ours(c, is) && !hc_record_find(c->baseline, is->name, is->backend))
            find_new(c, is);
    }
    return HC_OK;
}

static bool applies(const struct hc_gate *c)
{
    (void)c;
    return true;
}

const struct hc_gate_way hc_gate_rows = {.applies = applies, .compare = compare};
