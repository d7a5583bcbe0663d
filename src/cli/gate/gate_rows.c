#include "cli/gate/gate_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/record/parts.h"

/* Below this error/bound no error counts as grown. If the baseline met the real value by luck, any
   other order of summation is infinitely many times worse. */
#define LOW 0.05

/* A NaN is worse than any number. */
static double size_of(double x)
{
    return isnan(x) ? (double)INFINITY : x;
}

static bool is_silent(enum hc_verdict verdict)
{
    return verdict == HC_SKIPPED || verdict == HC_UNIMPLEMENTED || verdict == HC_MISTRUSTED;
}

/* Whether both results are of the same level, without which their inputs are not the same. Adds the
   findings if they are not, or if that is not known. */
static bool same_level(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    const struct hc_record_part *before = &c->baseline.parts[was->part];
    const struct hc_record_part *after = &c->record.parts[is->part];
    bool both_have_run = before->run != NULL && after->run != NULL;
    bool levels = before->level && after->level;
    if (!both_have_run)
        hc_findings_add(
            &c->findings, HC_FINDING_UNKNOWN, is,
            "the %s is of an older halfcheck and does not say whether it was cut short%s",
            before->run ? "record" : "baseline", levels ? "" : ", or at which level it ran");
    if (levels ? strcmp(before->level, after->level) == 0
               : both_have_run && !before->level && !after->level)
        return true;
    if (levels || both_have_run)
        hc_findings_add(&c->findings, HC_FINDING_LEVEL, is, "level %s, was %s",
                        after->level ? after->level : "none",
                        before->level ? before->level : "none");
    return false;
}

/* Whether both results have the same inputs. Adds a finding for each reason against it. */
static bool same_inputs(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    bool same = same_level(c, was, is);
    if (was->seed != is->seed) {
        hc_findings_add(&c->findings, HC_FINDING_SEED, is, "seed %llu, was %llu",
                        (unsigned long long)is->seed, (unsigned long long)was->seed);
        same = false;
    }
    return same;
}

/* An error that failed may not grow at all. */
static void compare_errors(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    double before = hc_ratio(was->error, was->bound);
    double after = hc_ratio(is->error, was->bound);
    bool worse = hc_row_verdict(is) == HC_FAIL ? size_of(is->error) > size_of(was->error)
                                               : after > c->growth * fmax(before, LOW);
    if (worse)
        hc_findings_add(&c->findings, HC_FINDING_ERROR, is,
                        "error %.4g %s, was %.4g; %s %.3g, was %.3g", is->error, is->unit,
                        was->error,
                        is->bound == was->bound ? "error/bound" : "error/(the baseline's bound)",
                        after, before);
}

/* Both passed or both failed. */
static void compare_numbers(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    bool same = same_inputs(c, was, is);
    if (same && is->checked < was->checked)
        hc_findings_add(&c->findings, HC_FINDING_CHECKED, is, "%lld comparisons, were %lld",
                        (long long)is->checked, (long long)was->checked);
    if (strcmp(is->unit, was->unit) != 0) {
        hc_findings_add(&c->findings, HC_FINDING_UNIT, is, "in %s, was in %s", is->unit, was->unit);
        return;
    }
    if (!same)
        return;
    if (size_of(is->bound) > size_of(was->bound))
        hc_findings_add(&c->findings, HC_FINDING_BOUND, is, "bound %.6g %s, was %.6g", is->bound,
                        is->unit, was->bound);
    compare_errors(c, was, is);
}

static void find_lost(struct hc_gate *c, const struct hc_row *is, const char *was)
{
    char note[400] = "";
    if (hc_row_verdict(is) != is->verdict)
        (void)snprintf(note, sizeof note, " (it says PASS, but its error is %g and its bound %g)",
                       fabs(is->error), fabs(is->bound));
    else if (is->note[0])
        (void)snprintf(note, sizeof note, ": %s", is->note);
    hc_findings_add(&c->findings,
                    is->verdict == HC_SKIPPED ? HC_FINDING_MACHINE : HC_FINDING_VERDICT, is,
                    "%s, %s%s", hc_verdict_names[hc_row_verdict(is)], was, note);
}

static void compare_rows(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    enum hc_verdict before = hc_row_verdict(was);
    enum hc_verdict after = hc_row_verdict(is);
    char words[40];
    bool said = before == HC_PASS || before == HC_FAIL;
    if (after == before && said)
        compare_numbers(c, was, is);
    c->still_bad += after == before && (after == HC_FAIL || after == HC_ERROR);
    c->better += after == HC_PASS && before != HC_PASS;
    if (after == HC_PASS || after == before || (is_silent(after) && !said))
        return;
    (void)snprintf(words, sizeof words, "was %s", hc_verdict_names[before]);
    find_lost(c, is, words);
}

/* Why the backend left out cases of the row's component in this part, or NULL. */
static const char *why_left_out(const struct hc_record_part *part, const struct hc_row *row)
{
    char component[80];
    (void)snprintf(component, sizeof component, "%.*s", (int)strcspn(row->name, "/"), row->name);
    const json_t *of_backend = json_object_get(part->left_out, row->backend);
    return json_string_value(json_object_get(json_object_get(of_backend, component), "why"));
}

/* The record lacks the result, perhaps because its machine has no such backend. */
static void find_missing(struct hc_gate *c, const struct hc_row *was)
{
    const char *left_out = NULL;
    for (int p = 0; p < c->record.part_count; p++) {
        const struct hc_record_part *part = &c->record.parts[p];
        const char *why = json_string_value(json_object_get(part->left_out, was->backend));
        if (why) {
            hc_findings_add(&c->findings, HC_FINDING_MACHINE, was,
                            "%s could not run on that machine: %s", was->backend, why);
            return;
        }
        left_out = left_out ? left_out : why_left_out(part, was);
    }
    bool some = c->record.part_count == 1 && json_array_size(c->record.parts[0].patterns) > 0;
    hc_findings_add(&c->findings, HC_FINDING_MISSING, was, "missing from the record%s, was %s%s%s",
                    some ? " (a run of some cases)" : "", hc_verdict_names[was->verdict],
                    left_out ? "; it was left out there: " : "", left_out ? left_out : "");
}

void hc_gate_compare(struct hc_gate *c)
{
    for (int i = 0; i < c->baseline.count; i++) {
        const struct hc_row *was = &c->baseline.rows[i];
        const struct hc_row *is = hc_record_find(&c->record, was->name, was->backend);
        if (is)
            compare_rows(c, was, is);
        else
            find_missing(c, was);
    }
    for (int i = 0; i < c->record.count; i++) {
        const struct hc_row *is = &c->record.rows[i];
        if ((hc_row_verdict(is) == HC_FAIL || hc_row_verdict(is) == HC_ERROR) &&
            !hc_record_find(&c->baseline, is->name, is->backend))
            find_lost(c, is, "and new");
    }
}
