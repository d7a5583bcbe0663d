#include "cli/gate/gate_training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/record/outcomes.h"

/* Both records' trainings while they are compared. */
struct comparison {
    struct hc_gate *gate;
    struct hc_outcomes was;
    struct hc_outcomes is;
    double epochs_level;
    int recipes; /* whose runs have a spread, with the sum of its squares and its freedom */
    double squares;
    double freedom;
};

static bool has_trainings(const struct hc_record *record)
{
    return json_array_size(json_object_get(record->document, "trainings")) > 0;
}

/* A record that has none lacks those of the baseline. */
static bool applies(const struct hc_gate *gate)
{
    return has_trainings(gate->baseline);
}

static bool owns(const struct hc_row *row)
{
    return strncmp(row->name, "train/", 6) == 0 || strncmp(row->name, "compare/", 8) == 0 ||
           strncmp(row->name, "protocol/", 9) == 0;
}

static double margin_of(const struct hc_gate *gate)
{
    return gate->margin > 0 ? gate->margin : HC_GATE_MARGIN;
}

static int order(const struct hc_outcome *a, const struct hc_outcome *b)
{
    int recipes = strcmp(a->recipe, b->recipe);
    return recipes ? recipes : strcmp(a->backend, b->backend);
}

/* The runs from `at` on that have its recipe and backend. */
static struct hc_training_set set_at(const struct hc_outcomes *all, int at)
{
    struct hc_training_set set = {.runs = all->trainings + at};
    while (at + set.count < all->training_count && order(set.runs, set.runs + set.count) == 0)
        set.count++;
    return set;
}

static void name_of(const struct hc_outcome *run, bool one, char name[512])
{
    char seed[32] = "";
    if (one)
        (void)snprintf(seed, sizeof seed, "-seed%llu", (unsigned long long)run->seed);
    (void)snprintf(name, 512, "train/%s%s", run->recipe, seed);
}

static const struct hc_outcome *run_of(const struct hc_training_set *set, uint64_t seed)
{
    for (int i = 0; i < set->count; i++)
        if (set->runs[i].seed == seed)
            return &set->runs[i];
    return NULL;
}

/* A run that did not learn is worse even if the baseline's did not either: nobody gates on a
   training to hear that it fails as it always did. Who wants that says so in an allowance. */
static void find_failures(struct comparison *c, const struct hc_training_set *was,
                          const struct hc_training_set *is)
{
    char name[512];
    for (int i = 0; i < is->count; i++) {
        const struct hc_outcome *run = &is->runs[i];
        const struct hc_outcome *before = run_of(was, run->seed);
        name_of(run, true, name);
        if (!run->learned && hc_gate_is_to_fail(c->gate, run))
            continue;
        if (!run->learned)
            hc_findings_add(&c->gate->findings, HC_FINDING_TRAINING, name, run->backend,
                            "did not learn%s: %s",
                            before && !before->learned ? ", as in the baseline" : "", run->reason);
        else if (before && !before->learned)
            hc_findings_add(&c->gate->findings, HC_FINDING_BETTER, name, run->backend,
                            "learned; it did not before: %s", before->reason);
    }
}

/* What an answer is called, and which finding it makes, if any. */
static const struct {
    const char *word;
    enum hc_finding_kind kind;
} answers[] = {[HC_TRAINS_IDENTICAL] = {"identical", HC_FINDING_KINDS},
               [HC_TRAINS_EQUIVALENT] = {"equivalent", HC_FINDING_KINDS},
               [HC_TRAINS_BETTER] = {"better", HC_FINDING_BETTER},
               [HC_TRAINS_NOT_WORSE] = {"not worse", HC_FINDING_CHANGED},
               [HC_TRAINS_WORSE] = {"worse", HC_FINDING_TRAINING},
               [HC_TRAINS_NOT_SHOWN] = {"not shown", HC_FINDING_SEEDS},
               [HC_TRAINS_TOO_FEW] = {"too few", HC_FINDING_SEEDS}};

/* What was compared, whatever came of it. From one run that is identical nothing follows for
   others. */
static void tell_note(struct comparison *c, const struct hc_training_question *q,
                      const struct hc_training_verdict *v, const struct hc_training_plan *plan)
{
    char name[512];
    char shown[HC_TRAINING_TEXT];
    char needed[HC_TRAINING_TEXT];
    char epochs[HC_TRAINING_TEXT];
    bool identical = v->answer == HC_TRAINS_IDENTICAL;
    bool same = identical || v->answer == HC_TRAINS_EQUIVALENT;
    bool plain = identical && plan->needed == 0;
    name_of(q->is.runs, false, name);
    hc_training_say(q, v, shown);
    hc_training_say_plan(q->margin, plan, needed);
    hc_training_say_epochs(v, epochs);
    c->gate->same += same && !v->slower && !v->faster;
    hc_gate_note(c->gate, same ? answers[v->answer].word : NULL, name, q->is.runs->backend,
                 "%s%s%s%s%s", shown, *epochs ? "; " : "", epochs,
                 plain       ? ""
                 : identical ? "; runs that differ would take "
                             : "; it takes ",
                 plain ? "" : needed);
    if (plan->paired || isnan(plan->deviation))
        return;
    c->recipes++;
    c->squares += plan->deviation * plan->deviation * plan->freedom;
    c->freedom += plan->freedom;
}

/* The seeds that it takes if all recipes have one spread, which is known better than that of
   each. */
static void tell_pooled(struct comparison *c)
{
    char text[HC_TRAINING_TEXT];
    struct hc_training_plan plan = {
        .level = c->gate->level, .deviation = sqrt(c->squares / c->freedom), .freedom = c->freedom};
    if (c->recipes < 2)
        return;
    hc_training_plan_runs(margin_of(c->gate), 0, &plan);
    hc_training_say_plan(margin_of(c->gate), &plan, text);
    hc_gate_note(c->gate, "all recipes together, as if they had one spread", "train/*", "", "%s",
                 text);
}

static void tell(struct comparison *c, const struct hc_training_question *q,
                 const struct hc_training_verdict *v, const struct hc_training_plan *plan)
{
    char name[512];
    char shown[HC_TRAINING_TEXT];
    char needed[HC_TRAINING_TEXT];
    char epochs[HC_TRAINING_TEXT];
    const struct hc_outcome *run = q->is.runs;
    struct hc_findings *findings = &c->gate->findings;
    bool told = answers[v->answer].kind != HC_FINDING_KINDS &&
                (v->answer != HC_TRAINS_TOO_FEW || (v->is > 0 && v->was > 0));
    name_of(run, false, name);
    hc_training_say(q, v, shown);
    hc_training_say_plan(q->margin, plan, needed);
    hc_training_say_epochs(v, epochs);
    if (told) {
        hc_findings_add(findings, answers[v->answer].kind, name, run->backend,
                        "%s: %s; it takes %s", answers[v->answer].word, shown, needed);
        hc_findings_weigh(findings, fabs(v->accuracy.mean), "");
    }
    if (v->slower || v->faster)
        hc_findings_add(findings, v->slower ? HC_FINDING_EPOCHS : HC_FINDING_BETTER, name,
                        run->backend, "%s, %g %% interval of the difference %+.1f .. %+.1f", epochs,
                        100 - 200 * c->epochs_level, v->epochs.low, v->epochs.high);
    tell_note(c, q, v, plan);
}

static enum hc_status compare_recipe(struct comparison *c, const struct hc_training_set *was,
                                     const struct hc_training_set *is)
{
    char name[512];
    struct hc_training_verdict verdict;
    struct hc_training_plan plan;
    const struct hc_outcome *a = was->runs;
    const struct hc_outcome *b = is->runs;
    name_of(b, false, name);
    c->gate->compared++;
    c->gate->judged++;
    find_failures(c, was, is);
    for (int i = 0; i < was->count + is->count; i++) {
        const struct hc_outcome *one = i < was->count ? &a[i] : &b[i - was->count];
        if (strcmp(a->settings, one->settings) == 0 && a->test_images == one->test_images)
            continue;
        hc_findings_add(&c->gate->findings, HC_FINDING_SETTINGS, name, b->backend,
                        "trained on %s (%lld test images), was %s (%lld)", one->settings,
                        (long long)one->test_images, a->settings, (long long)a->test_images);
        return HC_OK;
    }
    const struct hc_training_question question = {.was = *was,
                                                  .is = *is,
                                                  .margin = margin_of(c->gate),
                                                  .level = c->gate->level,
                                                  .target = c->gate->target,
                                                  .epochs_level = c->epochs_level};
    enum hc_status status = hc_training_judge(&question, &verdict);
    if (status == HC_OK)
        status = hc_training_plan(&question, &plan);
    if (status == HC_OK)
        tell(c, &question, &verdict, &plan);
    return status;
}

/* A recipe that one record alone has. */
static void find_alone(struct comparison *c, const struct hc_training_set *set, bool is_new)
{
    char name[512];
    name_of(set->runs, false, name);
    const struct hc_training_set none = {0};
    hc_findings_add(&c->gate->findings, is_new ? HC_FINDING_NEW : HC_FINDING_MISSING, name,
                    set->runs->backend,
                    is_new ? "a new recipe, %d runs" : "not trained, was %d runs", set->count);
    if (is_new)
        find_failures(c, &none, set);
}

/* Both lists are sorted by recipe and backend. Only counts the recipes that both have if `count` is
   there. */
static enum hc_status walk(struct comparison *c, int *count)
{
    enum hc_status status = HC_OK;
    int a = 0;
    int b = 0;
    while (status == HC_OK && (a < c->was.training_count || b < c->is.training_count)) {
        int side = a == c->was.training_count  ? 1
                   : b == c->is.training_count ? -1
                                               : order(&c->was.trainings[a], &c->is.trainings[b]);
        const struct hc_training_set was = set_at(&c->was, a);
        const struct hc_training_set is = set_at(&c->is, b);
        char name[512];
        name_of(side <= 0 ? was.runs : is.runs, false, name);
        bool chosen = hc_gate_chooses(c->gate, name);
        a += side <= 0 ? was.count : 0;
        b += side >= 0 ? is.count : 0;
        if (count)
            *count += chosen && side == 0;
        else if (chosen && side == 0)
            status = compare_recipe(c, &was, &is);
        else if (chosen)
            find_alone(c, side < 0 ? &was : &is, side > 0);
    }
    return status;
}

/* Whether a finding, such as that the run did not learn, has the row's name. */
static bool is_told(const struct hc_gate *gate, const struct hc_row *row)
{
    for (int i = 0; i < gate->findings.count; i++)
        if (strcmp(gate->findings.all[i].name, row->name) == 0 &&
            strcmp(gate->findings.all[i].backend, row->backend) == 0)
            return true;
    return false;
}

static bool is_bad(const struct hc_row *row)
{
    return row && (hc_row_verdict(row) == HC_FAIL || hc_row_verdict(row) == HC_ERROR);
}

void hc_gate_find_failures(struct hc_gate *gate, const char *prefix)
{
    for (int i = 0; i < gate->record->count; i++) {
        const struct hc_row *is = &gate->record->rows[i];
        const struct hc_row *was = hc_record_find(gate->baseline, is->name, is->backend);
        if (strncmp(is->name, prefix, strlen(prefix)) != 0 || !is_bad(is) || is_bad(was) ||
            !hc_gate_chooses(gate, is->name) || is_told(gate, is))
            continue;
        hc_findings_add(&gate->findings, HC_FINDING_VERDICT, is->name, is->backend, "%s, %s: %s",
                        hc_verdict_names[hc_row_verdict(is)],
                        was ? "did not fail before" : "and new", is->note);
        hc_findings_weigh(&gate->findings, 0, is->repro);
    }
}

/* Claims of a study that have lost their answer. Their numbers are not compared: the mean of a few
   pairs moves as their seeds do, and what counts is whether the claim is shown. With a protocol at
   hand they are judged anew. */
static void find_undecided(struct hc_gate *gate)
{
    if (gate->protocol)
        return;
    hc_gate_find_failures(gate, "protocol/");
    for (int i = 0; i < gate->record->count; i++) {
        const struct hc_row *is = &gate->record->rows[i];
        const struct hc_row *was = hc_record_find(gate->baseline, is->name, is->backend);
        if (strncmp(is->name, "protocol/", 9) == 0 && was && hc_row_verdict(was) == HC_PASS &&
            hc_row_verdict(is) == HC_SKIPPED && hc_gate_chooses(gate, is->name))
            hc_findings_add(&gate->findings, HC_FINDING_SEEDS, is->name, is->backend,
                            "was shown, and is not: %s", is->note);
    }
}

static enum hc_status compare(struct hc_gate *gate)
{
    struct comparison c = {.gate = gate};
    int recipes = 0;
    enum hc_status status = hc_outcomes_read("the baseline", gate->baseline, &c.was);
    if (status == HC_OK)
        status = hc_outcomes_read("the record", gate->record, &c.is);
    if (status == HC_OK && gate->protocol)
        status = hc_gate_by_protocol(gate, &c.is);
    if (status == HC_OK)
        status = walk(&c, &recipes);
    c.epochs_level = 0.05 / (recipes > 0 ? recipes : 1);
    if (status == HC_OK)
        status = walk(&c, NULL);
    if (status == HC_OK) {
        tell_pooled(&c);
        hc_gate_find_failures(gate, "train/");
        hc_gate_find_failures(gate, "compare/");
        find_undecided(gate);
    }
    hc_outcomes_free(&c.was);
    hc_outcomes_free(&c.is);
    return status;
}

const struct hc_gate_way hc_gate_training = {.applies = applies, .owns = owns, .compare = compare};
