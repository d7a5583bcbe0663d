/* The drift of two records: of gradients and weights as a whole, by layer and by source of
   rounding.

   It is compared if both records have drift (compare --drift --seeds N). Each number that grew is a
   finding "drift/<recipe>/<number>"; what moved by less than seeds differ, or shrank, is one for
   the recipe. Too few seeds are a finding, too, unless all numbers are equal. What the record
   claims ("drift/<recipe>-gradients-explained") is worse if it fails and did not. */
#include "cli/gate/gate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/gate/drift_runs.h"
#include "cli/gate/training_runs.h"
#include "cli/lines.h"
#include "op/text.h"

/* A recipe while its numbers are compared. */
struct comparison {
    struct hc_gate *gate;
    struct hc_drift_set was;
    struct hc_drift_set is;
    char name[400]; /* "drift/amp" */
    int counts[HC_DRIFT_UNKNOWN + 1];
    int equal;
    struct hc_drift_verdict moved; /* of those that moved or shrank, the one that did most */
    struct hc_drift_verdict shrunk;
    struct hc_drift_verdict gradient;
};

/* Older records do not say how a drift was measured. */
static bool has_drift(const struct hc_record *record)
{
    const json_t *list = json_object_get(record->document, "drift");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_object_get(json_array_get(list, i), "settings"))
            return true;
    return false;
}

/* A record that has none lacks those of the baseline. */
static bool applies(const struct hc_gate *gate)
{
    return has_drift(gate->baseline);
}

/* What the record claims of its drifts has the drift itself as its bound. */
static bool owns(const struct hc_row *row)
{
    return strncmp(row->name, "drift/", 6) == 0;
}

static void describe_change(const struct hc_drift_verdict *v, char text[320])
{
    if (isnan(v->factor))
        (void)hc_text_write(text, 320, "%s %.3g, was %.3g", v->name, v->is, v->was);
    else
        (void)hc_text_write(text, 320,
                            "%s %.3g, was %.3g: a factor of %.3g, interval %.3g .. %.3g; one seed "
                            "differs by %.3g",
                            v->name, v->is, v->was, v->factor, v->low, v->high, v->spread);
}

/* The verdict that is further from no change at all. */
static void keep_larger(struct hc_drift_verdict *kept, const struct hc_drift_verdict *one)
{
    if (!kept->name || fabs(log(one->factor)) > fabs(log(kept->factor)))
        *kept = *one;
}

static void take_verdict(struct comparison *c, const struct hc_drift_verdict *v)
{
    char text[320];
    char name[640];
    c->counts[v->change]++;
    c->equal += v->equal;
    if (strcmp(v->name, "gradient") == 0)
        c->gradient = *v;
    if (v->change == HC_DRIFT_MOVED)
        keep_larger(&c->moved, v);
    if (v->change == HC_DRIFT_SHRUNK)
        keep_larger(&c->shrunk, v);
    if (v->change != HC_DRIFT_GROWN)
        return;
    (void)snprintf(name, sizeof name, "%s/%s", c->name, v->name);
    describe_change(v, text);
    hc_findings_add(&c->gate->findings, HC_FINDING_DRIFT, name, c->is.runs->backend, "%s", text);
    hc_findings_weigh(&c->gate->findings, isnan(v->factor) ? (double)NAN : log(v->factor), "");
}

/* Numbers that grew are told one by one; of the others the recipe tells how many there are. */
static void report_recipe(struct comparison *c)
{
    static const char lowest[] = "the spread over seeds, which tells a change from chance, takes";
    char text[320];
    const char *backend = c->is.runs->backend;
    struct hc_findings *findings = &c->gate->findings;
    int numbers = c->was.runs->count;
    bool few = c->was.count < HC_LEAST_DRIFT_SEEDS || c->is.count < HC_LEAST_DRIFT_SEEDS;
    if (few && c->counts[HC_DRIFT_UNKNOWN] > 0)
        hc_findings_add(findings, HC_FINDING_SEEDS, c->name, backend,
                        "too few: %d seed%s, %d in the baseline; %s %d a side", c->is.count,
                        c->is.count == 1 ? "" : "s", c->was.count, lowest, HC_LEAST_DRIFT_SEEDS);
    if (!few && c->counts[HC_DRIFT_UNKNOWN] > 0)
        hc_findings_add(findings, HC_FINDING_SEEDS, c->name, backend,
                        "%d of %d numbers are infinite or NaN for a seed of the baseline, and have "
                        "no spread to compare with",
                        c->counts[HC_DRIFT_UNKNOWN], numbers);
    if (c->counts[HC_DRIFT_MOVED]) {
        describe_change(&c->moved, text);
        hc_findings_add(findings, HC_FINDING_CHANGED, c->name, backend,
                        "%d of %d numbers moved by less than seeds differ; the most: %s",
                        c->counts[HC_DRIFT_MOVED], numbers, text);
    }
    if (c->counts[HC_DRIFT_SHRUNK]) {
        describe_change(&c->shrunk, text);
        hc_findings_add(findings, HC_FINDING_BETTER, c->name, backend,
                        "%d of %d numbers are smaller; the most: %s", c->counts[HC_DRIFT_SHRUNK],
                        numbers, text);
    }
    describe_change(&c->gradient, text);
    bool same = c->counts[HC_DRIFT_SAME] == numbers;
    c->gate->same += same;
    hc_gate_note(c->gate, same ? "no drift is larger" : NULL, c->name, backend,
                 "%s (%s, were %d); %d of %d numbers are equal, %d grew", text,
                 hc_count(c->is.count, "seed").text, c->was.count, c->equal, numbers,
                 c->counts[HC_DRIFT_GROWN]);
}

static bool made_alike(const struct comparison *c)
{
    const char *made = c->was.runs->settings;
    for (int i = 0; i < c->was.count + c->is.count; i++) {
        const struct hc_drift_outcome *one =
            i < c->was.count ? &c->was.runs[i] : &c->is.runs[i - c->was.count];
        if (strcmp(made, one->settings) == 0)
            continue;
        hc_findings_add(&c->gate->findings, HC_FINDING_SETTINGS, c->name, one->backend,
                        "measured on %s, was %s", one->settings, made);
        return false;
    }
    return true;
}

static enum hc_status compare_recipe(struct comparison *c)
{
    enum hc_status status = HC_OK;
    c->gate->compared++;
    c->gate->judged++;
    if (!made_alike(c))
        return HC_OK;
    for (int k = 0; k < c->was.runs->count && status == HC_OK; k++) {
        struct hc_drift_verdict verdict;
        status = hc_drift_judge(&c->was, &c->is, k, &verdict);
        if (status == HC_OK)
            take_verdict(c, &verdict);
    }
    if (status == HC_OK)
        report_recipe(c);
    return status;
}

static int order_of_drifts(const struct hc_drift_outcome *a, const struct hc_drift_outcome *b)
{
    int recipes = strcmp(a->recipe, b->recipe);
    return recipes ? recipes : strcmp(a->backend, b->backend);
}

/* The drifts from `at` on that have its recipe and backend. */
static struct hc_drift_set set_at(const struct hc_outcomes *all, int at)
{
    struct hc_drift_set set = {.runs = all->drifts + at};
    while (at + set.count < all->drift_count &&
           order_of_drifts(set.runs, set.runs + set.count) == 0)
        set.count++;
    return set;
}

/* Both lists are sorted by recipe and backend. */
static enum hc_status walk(struct hc_gate *gate, const struct hc_outcomes *was,
                           const struct hc_outcomes *is)
{
    enum hc_status status = HC_OK;
    int a = 0;
    int b = 0;
    while (status == HC_OK && (a < was->drift_count || b < is->drift_count)) {
        int side = a == was->drift_count  ? 1
                   : b == is->drift_count ? -1
                                          : order_of_drifts(&was->drifts[a], &is->drifts[b]);
        struct comparison c = {.gate = gate, .was = set_at(was, a), .is = set_at(is, b)};
        const struct hc_drift_outcome *one = side <= 0 ? c.was.runs : c.is.runs;
        (void)hc_text_write(c.name, sizeof c.name, "drift/%s", one->recipe);
        a += side <= 0 ? c.was.count : 0;
        b += side >= 0 ? c.is.count : 0;
        if (!hc_gate_chooses(gate, c.name))
            continue;
        if (side == 0)
            status = compare_recipe(&c);
        else
            hc_findings_add(&gate->findings, side < 0 ? HC_FINDING_MISSING : HC_FINDING_NEW, c.name,
                            one->backend, "the drift of this recipe was measured in %s alone",
                            side < 0 ? "the baseline" : "the record");
    }
    return status;
}

static enum hc_status compare_drift(struct hc_gate *gate)
{
    struct hc_outcomes was;
    struct hc_outcomes is = {0};
    enum hc_status status = hc_outcomes_read("the baseline", gate->baseline, &was);
    if (status == HC_OK)
        status = hc_outcomes_read("the record", gate->record, &is);
    if (status == HC_OK)
        status = walk(gate, &was, &is);
    if (status == HC_OK)
        hc_gate_find_failures(gate, "drift/");
    hc_outcomes_free(&was);
    hc_outcomes_free(&is);
    return status;
}

const struct hc_gate_way hc_gate_drift = {
    .applies = applies, .owns = owns, .compare = compare_drift};
