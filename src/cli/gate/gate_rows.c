/* Whether a change made anything worse: each result of a baseline is compared with the one of the
   same case and backend now.

   A verdict got worse, an error grew by more than a factor, a bound was raised, fewer elements
   were compared, or the result is gone. Each of these hides an error in its own way, so each is
   a finding of its own kind. Errors are measured by the baseline's bound on both sides: a raised
   bound then hides no growth, and a lowered one shows none. Numbers are compared only if the
   inputs are the same, which takes the same level and seed: random errors of other inputs may be
   a hundred times as large. What cannot be compared is found, too, and fails the gate unless it
   is allowed: an empty comparison must not pass for a good one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/record/decimal.h"
#include "check/record/parts.h"
#include "cli/gate/gate.h"
#include "cli/lines.h"
#include "op/text.h"

enum { TEXT = 640 };

/* Adds a finding about this result. */
static void add_finding(struct hc_gate *c, enum hc_finding_kind kind, const struct hc_row *row,
                        double weight, const char *text)
{
    hc_findings_add(&c->findings, kind, row->name, row->backend, "%s", text);
    hc_findings_weigh(&c->findings, weight, row->repro);
}

/* Whether both results are of the same level, without which their inputs are not the same. Adds the
   findings if they are not, or if that is not known. */
static bool same_level(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    const struct hc_record_part *before = &c->baseline->parts[was->part];
    const struct hc_record_part *after = &c->record->parts[is->part];
    bool both_have_run = before->run != NULL && after->run != NULL;
    bool levels = before->level && after->level;
    if (!both_have_run)
        hc_findings_add(
            &c->findings, HC_FINDING_UNKNOWN, is->name, is->backend,
            "the %s is of an older halfcheck and does not say whether it was cut short%s",
            before->run ? "record" : "baseline", levels ? "" : ", or at which level it ran");
    if (levels ? strcmp(before->level, after->level) == 0
               : both_have_run && !before->level && !after->level)
        return true;
    if (levels || both_have_run)
        hc_findings_add(&c->findings, HC_FINDING_LEVEL, is->name, is->backend, "level %s, was %s",
                        after->level ? after->level : "none",
                        before->level ? before->level : "none");
    return false;
}

/* Whether both results have the same inputs. Adds a finding for each reason against it. */
static bool same_inputs(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    bool same = same_level(c, was, is);
    if (was->seed != is->seed) {
        hc_findings_add(&c->findings, HC_FINDING_SEED, is->name, is->backend, "seed %llu, was %llu",
                        (unsigned long long)is->seed, (unsigned long long)was->seed);
        same = false;
    }
    return same;
}

/* The bits that kernels gave, where they are promised: what passed on one machine holds on another
   that gives the same. Other bits are worse only if nothing else is another that may be the reason;
   otherwise nobody can tell. */

static bool is_one_of(const char *const *names, const char *key)
{
    for (; *names; names++)
        if (strcmp(*names, key) == 0)
            return true;
    return false;
}

/* Whether the result holds bits alone (hc_row_is_bits) and its run says so: digests beside results
   that were SKIPPED for another reason are no evidence of anything. */
static bool holds_bits_alone(const struct hc_record *record, const struct hc_row *row)
{
    const json_t *run = record->parts[row->part].run;
    return hc_row_is_bits(row) && json_is_true(json_object_get(run, "bits_only"));
}

static const json_t *environment_of(const struct hc_record *record, const struct hc_row *row)
{
    const json_t *own = record->parts[row->part].environment;
    return own ? own : record->environment;
}

/* Whether a member is the same in both; one that is null is as good as one that is absent. */
static bool same(const json_t *a, const json_t *b)
{
    bool none_a = !a || json_is_null(a);
    bool none_b = !b || json_is_null(b);
    return none_a || none_b ? none_a == none_b : json_equal((json_t *)a, (json_t *)b);
}

/* What of an environment says which machine it was. Everything else is a version of something that
   the bits may depend on, but for what only counts, orders or judges. */
static const char *const machines[] = {"cpu", "cpu_flags", "gpu", "capability", "os", NULL};
static const char *const harmless[] = {"date",    "cores",       "mpfr", "gmp",
                                       "jansson", "fingerprint", NULL};

static void add_other(const char *key, char *others, size_t bytes, enum hc_finding_kind *kind)
{
    hc_append(others, bytes, "%s%s", others[0] ? ", " : "", key);
    if (*kind == HC_FINDING_BITS)
        *kind = is_one_of(machines, key) ? HC_FINDING_MACHINE : HC_FINDING_VERSION;
}

/* Adds the members that are other in `is` than in `was`, or gone, to the list of names. */
static void find_others(const json_t *was, const json_t *is, char *others, size_t bytes,
                        enum hc_finding_kind *kind)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)is, key, value)
    {
        if (!is_one_of(harmless, key) && !same(json_object_get(was, key), value))
            add_other(key, others, bytes, kind);
    }
    json_object_foreach((json_t *)was, key, value)
    {
        if (!is_one_of(harmless, key) && !json_object_get(is, key) && !same(value, NULL))
            add_other(key, others, bytes, kind);
    }
}

static void find_other(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char others[300] = "";
    char text[TEXT];
    enum hc_finding_kind kind = HC_FINDING_BITS;
    find_others(environment_of(c->baseline, was), environment_of(c->record, is), others,
                sizeof others, &kind);
    find_others(json_object_get(c->baseline->backends, was->backend),
                json_object_get(c->record->backends, is->backend), others, sizeof others, &kind);
    if (kind == HC_FINDING_BITS)
        (void)snprintf(text, sizeof text,
                       "other bits than before, on the same machine, with the "
                       "same versions");
    else
        (void)snprintf(text, sizeof text, "other bits; what else is another: %s", others);
    add_finding(c, kind, is, 0, text);
}

/* Compares the bits of results with the same inputs; and those of a record that holds bits
   alone. */
static void compare_bits(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    enum hc_bits bits = hc_row_compare_bits(was, is);
    if (bits == HC_BITS_OTHER)
        find_other(c, was, is);
    else if (bits == HC_BITS_UNKNOWN && was->digest_bits > 0)
        add_finding(c, HC_FINDING_DIGEST, is, 0,
                    "the baseline has a digest of its bits, the "
                    "record has none");
    else if (bits == HC_BITS_UNKNOWN && holds_bits_alone(c->record, is))
        add_finding(c, HC_FINDING_DIGEST, is, 0,
                    "the record holds bits alone, and the baseline "
                    "has no digest of them");
}

static void compare_bits_alone(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    if (same_inputs(c, was, is))
        compare_bits(c, was, is);
}

/* The numbers of a result that both sides have, with the same verdict. */

/* Below this error/bound no error counts as grown. If the baseline met the real value by luck, any
   other order of summation is infinitely many times worse. */
#define LOW 0.05

/* A NaN is worse than any number. */
static double size_of(double x)
{
    return isnan(x) ? (double)INFINITY : x;
}

/* How an error went on, in a unit that both results have. */
static void say_errors(const struct hc_row *was, const struct hc_row *is, char text[TEXT])
{
    (void)hc_text_write(text, TEXT, "error %.4g %s, was %.4g; %s %.3g, was %.3g", is->error,
                        is->unit, was->error,
                        is->bound == was->bound ? "error/bound" : "error/(the baseline's bound)",
                        hc_ratio(is->error, was->bound), hc_ratio(was->error, was->bound));
}

/* An error that failed may not grow at all. */
static bool error_grew(const struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    if (hc_row_verdict(is) == HC_FAIL)
        return size_of(is->error) > size_of(was->error);
    return hc_ratio(is->error, was->bound) >
           c->growth * fmax(hc_ratio(was->error, was->bound), LOW);
}

static void find_fewer(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[TEXT];
    (void)hc_text_write(text, sizeof text, "checked %lld, was %lld", (long long)is->checked,
                        (long long)was->checked);
    add_finding(c, HC_FINDING_CHECKED, is, (double)was->checked / fmax(1, (double)is->checked),
                text);
}

/* MPFR has judged fewer of the elements, or fewer of those that are NaN or infinite. A baseline of
   text of version 1 does not say how many it judged. */
static void find_less_looked_at(struct hc_gate *c, const struct hc_row *was,
                                const struct hc_row *is)
{
    char text[TEXT];
    bool fewer = is->looked_at < was->looked_at || is->looked_of < was->looked_of ||
                 is->special < was->special;
    if (was->looked_of == 0 || !fewer)
        return;
    (void)hc_text_write(text, sizeof text,
                        "MPFR judged %lld of %lld elements (%lld NaN or infinite), was %lld of "
                        "%lld (%lld)",
                        (long long)is->looked_at, (long long)is->looked_of, (long long)is->special,
                        (long long)was->looked_at, (long long)was->looked_of,
                        (long long)was->special);
    add_finding(c, HC_FINDING_CHECKED, is, (double)was->looked_at / fmax(1, (double)is->looked_at),
                text);
}

/* The largest call that was judged is smaller than before. A baseline of text of version 1
   does not say how large it was, nor do records of versions that had no such member. */
static void find_smaller(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[TEXT];
    if (is->largest.work >= was->largest.work)
        return;
    (void)hc_text_write(text, sizeof text,
                        "the largest call that was judged has %lld elements or terms, was %lld",
                        (long long)is->largest.work, (long long)was->largest.work);
    add_finding(c, HC_FINDING_CHECKED, is,
                (double)was->largest.work / fmax(1, (double)is->largest.work), text);
}

/* A failure in more elements than before, or no longer a word of how many, if the baseline says in
   how many. */
static void find_more_wrong(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[TEXT];
    char count[60] = "nothing says how many";
    bool lost = is->wrong == 0 && hc_row_verdict(is) == HC_FAIL;
    if (was->wrong == 0 || (is->wrong <= was->wrong && !lost))
        return;
    if (!lost)
        (void)snprintf(count, sizeof count, "%lld", (long long)is->wrong);
    (void)hc_text_write(text, sizeof text, "%s of %lld comparisons fail, was %lld of %lld", count,
                        (long long)is->checked, (long long)was->wrong, (long long)was->checked);
    add_finding(c, HC_FINDING_ERROR, is, (double)is->wrong / (double)was->wrong, text);
}

static void find_numbers_worse(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[TEXT];
    if (is->checked < was->checked)
        find_fewer(c, was, is);
    if (size_of(is->bound) > size_of(was->bound)) {
        (void)hc_text_write(text, sizeof text, "bound %.6g %s, was %.6g", is->bound, is->unit,
                            was->bound);
        add_finding(c, HC_FINDING_BOUND, is, hc_ratio(is->bound, was->bound), text);
    }
    if (error_grew(c, was, is)) {
        say_errors(was, is, text);
        add_finding(c, HC_FINDING_ERROR, is, hc_ratio(is->error, was->error), text);
    }
}

/* What is another number and not worse. An error is better if it could not grow back unseen. */
static void find_numbers_changed(struct hc_gate *c, const struct hc_row *was,
                                 const struct hc_row *is)
{
    char text[TEXT];
    if (size_of(is->error) != size_of(was->error)) {
        bool better = size_of(was->error) > size_of(is->error) && error_grew(c, is, was);
        say_errors(was, is, text);
        add_finding(c, better ? HC_FINDING_BETTER : HC_FINDING_CHANGED, is,
                    better ? hc_ratio(was->error, is->error) : hc_ratio(is->error, was->error),
                    text);
    } else if (size_of(is->bound) < size_of(was->bound)) {
        (void)hc_text_write(text, sizeof text, "bound %.6g %s, was %.6g", is->bound, is->unit,
                            was->bound);
        add_finding(c, HC_FINDING_BETTER, is, hc_ratio(was->bound, is->bound), text);
    } else if (is->checked > was->checked) {
        (void)hc_text_write(text, sizeof text, "checked %lld, was %lld", (long long)is->checked,
                            (long long)was->checked);
        add_finding(c, HC_FINDING_CHANGED, is, 0, text);
    }
}

/* The row with its error and bound rounded up as those of a baseline are. */
static struct hc_row rounded(const struct hc_row *row, int digits)
{
    struct hc_row copy = *row;
    copy.error = hc_round_up(row->error, digits);
    copy.bound = hc_round_up(row->bound, digits);
    return copy;
}

/* Compares bits, errors, bounds, units and counts of results that both passed or both failed. */
static void compare_numbers(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    bool same = same_inputs(c, was, is);
    bool same_unit = strcmp(is->unit, was->unit) == 0;
    int digits =
        was->digits && (!is->digits || was->digits < is->digits) ? was->digits : is->digits;
    struct hc_row before = rounded(was, digits);
    struct hc_row after = rounded(is, digits);
    int found = c->findings.count;
    if (!same_unit)
        hc_findings_add(&c->findings, HC_FINDING_UNIT, is->name, is->backend, "in %s, was in %s",
                        is->unit, was->unit);
    if (!same)
        return;
    compare_bits(c, was, is);
    if (same_unit)
        find_numbers_worse(c, &before, &after);
    else if (is->checked < was->checked)
        find_fewer(c, was, is);
    find_less_looked_at(c, was, is);
    find_smaller(c, was, is);
    find_more_wrong(c, was, is);
    if (same_unit && c->findings.count == found)
        find_numbers_changed(c, &before, &after);
}

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
    char text[TEXT];
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
    add_finding(c, is->verdict == HC_SKIPPED ? HC_FINDING_MACHINE : HC_FINDING_VERDICT, is,
                hc_ratio(is->error, is->bound), text);
}

/* A result that goes on failing is worse only in so far as it is to be explained: somebody has
   allowed it, and until when. */
static void find_known(struct hc_gate *c, const struct hc_row *is)
{
    char words[TEXT];
    for (int i = 0; i < c->allowances.count; i++) {
        const struct hc_allowance *one = &c->allowances.all[i];
        if (one->kind != HC_FINDING_VERDICT || !hc_allowance_matches(one, is->name, is->backend))
            continue;
        (void)snprintf(words, sizeof words, "%s, as before", hc_verdict_names[hc_row_verdict(is)]);
        add_finding(c, HC_FINDING_VERDICT, is, hc_ratio(is->error, is->bound), words);
        return;
    }
}

static void compare_rows(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    enum hc_verdict before = hc_row_verdict(was);
    enum hc_verdict after = hc_row_verdict(is);
    char words[TEXT];
    bool said = before == HC_PASS || before == HC_FAIL;
    bool bad = is_bad(after);
    if (holds_bits_alone(c->record, is)) {
        int found = c->findings.count;
        compare_bits_alone(c, was, is);
        if (is_bad(before) && c->findings.count == found)
            find_known(c, was);
        return;
    }
    if (after == before && said)
        compare_numbers(c, was, is);
    if (after == before && bad)
        find_known(c, is);
    if (after == before)
        return;
    if (after == HC_PASS || (is_silent(after) && !said)) {
        (void)snprintf(words, sizeof words, "%s, was %s", hc_verdict_names[after],
                       hc_verdict_names[before]);
        add_finding(c, after == HC_PASS ? HC_FINDING_BETTER : HC_FINDING_CHANGED, is, 0, words);
        return;
    }
    (void)snprintf(words, sizeof words, "was %s", hc_verdict_names[before]);
    find_lost(c, is, words);
}

/* Compares two results and counts them. */
static void count_rows(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    int before = c->findings.count;
    bool bits = holds_bits_alone(c->record, is);
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

static enum hc_status compare_results(struct hc_gate *c)
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

const struct hc_gate_way hc_gate_rows = {.applies = applies, .compare = compare_results};
