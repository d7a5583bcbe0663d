/* The trainings of two records, if both have trainings. Each recipe and backend is compared as a
   whole, named "train/<recipe>" in findings; a run that did not learn is a finding of its own,
   "train/<recipe>-seed<n>", and so is a comparison that turned to FAIL ("compare/..."). Recipes
   that were trained otherwise (data, network, epochs, batch, rate) cannot be compared. */
#include "cli/gate/training_runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/record/outcomes.h"
#include "cli/protocol/conclusion.h"
#include "cli/statistics/power.h"
#include "cli/training/training_record.h"
#include "op/text.h"

/* What the comparison says in words. */

static void describe_difference(const struct hc_training_question *q,
                                const struct hc_training_verdict *v, char text[HC_TRAINING_TEXT])
{
    const struct hc_difference *d = &v->accuracy;
    char sets[64];
    if (v->answer == HC_TRAINS_IDENTICAL) {
        (void)snprintf(text, HC_TRAINING_TEXT,
                       "+0.00 points in %d pair%s: accuracy and losses are equal; margin %g",
                       v->pairs, v->pairs == 1 ? "" : "s", q->margin);
        return;
    }
    if (v->answer == HC_TRAINS_TOO_FEW && v->is == 0) {
        (void)snprintf(text, HC_TRAINING_TEXT, "no run learned");
        return;
    }
    if (v->answer == HC_TRAINS_TOO_FEW) {
        (void)snprintf(text, HC_TRAINING_TEXT,
                       "%d run%s learned, %d in the baseline: fewer than %d show nothing", v->is,
                       v->is == 1 ? "" : "s", v->was, HC_LEAST_SEEDS);
        return;
    }
    (void)snprintf(sets, sizeof sets, d->paired ? "%d pairs" : "%d runs, were %d",
                   d->paired ? d->n : v->is, v->was);
    (void)hc_text_write(text, HC_TRAINING_TEXT,
                        "accuracy %+.2f points, %g %% interval %+.2f .. %+.2f (%s), margin %g",
                        d->mean, 100 - 200 * (q->level > 0 ? q->level : 0.05), d->low, d->high,
                        sets, q->margin);
}

/* How many seeds it takes: "about 14 seeds a side for 0.5 points with 80 % power (6 to 102 by the
   90 % interval of their spread, 0.4)". */
static void describe_plan(double margin, const struct hc_training_plan *plan,
                          char text[HC_TRAINING_TEXT])
{
    if (plan->needed == 0)
        (void)snprintf(text, HC_TRAINING_TEXT,
                       "%d seeds a side at least, whose spread then says how many", HC_LEAST_SEEDS);
    else
        (void)hc_text_write(text, HC_TRAINING_TEXT,
                            "%s%d %s for %g points with 80 %% power (%d to %d by the 90 %% "
                            "interval of their spread, %.2g)",
                            plan->needed == HC_MAX_PLANNED ? "at least " : "about ", plan->needed,
                            plan->paired ? "pairs" : "seeds a side", margin, plan->range[0],
                            plan->range[1], plan->deviation);
}

/* "2.2 epochs to 94.38 %, was 2.0", or "". */
static void describe_epochs(const struct hc_training_verdict *v, char text[HC_TRAINING_TEXT])
{
    text[0] = '\0';
    if (v->answer != HC_TRAINS_IDENTICAL && v->answer != HC_TRAINS_TOO_FEW)
        (void)hc_text_write(text, HC_TRAINING_TEXT, "%.1f epochs to %.2f %%, was %.1f",
                            v->epochs_is, v->target, v->epochs_was);
}

/* Trainings judged by the protocol that asked for them.

   A record of a study says of itself what its runs show. A gate does not take its word: it sorts
   the record's trainings into pairs, as the protocol has them, and draws the conclusion again. */

static struct hc_protocol protocol;
static struct hc_training training;
static struct hc_study study;
static struct hc_conclusion conclusion;

static enum hc_status open_study(const char *path)
{
    struct hc_option unused[HC_MAX_OPTIONS + 1] = {0};
    hc_training_options(&training, unused);
    enum hc_status status = hc_protocol_read(path, &protocol);
    if (status == HC_OK)
        status = hc_study_open(&study, &protocol, path, &training);
    /* There is no such folder, so nothing is known of single images. */
    study.folder = "";
    return status;
}

/* The arm or base that a training is a run of; -1: of none. */
static int subject_of(const struct hc_outcome *outcome)
{
    if (strcmp(outcome->backend, protocol.backend) != 0 || outcome->seed < protocol.seed ||
        outcome->seed - protocol.seed >= HC_STUDY_SEEDS)
        return -1;
    for (int a = 0; a <= protocol.arms; a++)
        if (strcmp(outcome->recipe, study.recipe[a]->name) == 0)
            return a;
    return -1;
}

/* The settings of a text count pieces (hc_training_made), and each byte of them is a test. */
static const char *tests_of(const struct hc_outcome *outcome)
{
    return strstr(outcome->settings, " pieces, ") ? "test bytes" : "test images";
}

/* Runs with other settings are told, and answer no question of the protocol's. */
static void take_training(struct hc_gate *gate, const struct hc_outcome *outcome)
{
    char want[640];
    char name[512];
    int subject = subject_of(outcome);
    (void)snprintf(name, sizeof name, "train/%s-seed%llu", outcome->recipe,
                   (unsigned long long)outcome->seed);
    if (subject < 0)
        return;
    hc_training_made(&training, study.recipe[subject], 0, want, sizeof want);
    if (strcmp(outcome->settings, want) != 0 || outcome->test_images != study.test_images) {
        hc_findings_add(&gate->findings, HC_FINDING_SETTINGS, name, outcome->backend,
                        "trained on %s (%lld %s), the protocol asks for %s (%lld)",
                        outcome->settings, (long long)outcome->test_images, tests_of(outcome), want,
                        (long long)study.test_images);
        return;
    }
    struct hc_study_run *run = &study.run[subject][outcome->seed - protocol.seed];
    *run = (struct hc_study_run){.state = HC_STUDY_OVER,
                                 .learned = outcome->learned,
                                 .accuracy = outcome->accuracy,
                                 .test_loss = outcome->test_loss,
                                 .train_loss = outcome->train_loss};
    (void)snprintf(run->cpu, sizeof run->cpu, "%s", outcome->cpu);
}

static void add_arm(struct hc_gate *gate, int arm)
{
    char name[64];
    char sentence[HC_CONCLUSION_SENTENCE];
    enum hc_verdict verdict = conclusion.arm[arm].verdict;
    (void)snprintf(name, sizeof name, "protocol/%s", protocol.arm[arm].name);
    if (protocol.arm[arm].claim == HC_CLAIM_OPEN || !hc_gate_chooses(gate, name))
        return;
    gate->compared++;
    gate->judged++;
    gate->same += verdict == HC_PASS;
    hc_conclusion_sentence(&conclusion, arm, sentence);
    if (verdict == HC_PASS)
        hc_gate_note(gate, "as the protocol claims", name, protocol.backend, "%s", sentence);
    else
        hc_findings_add(
            &gate->findings, verdict == HC_SKIPPED ? HC_FINDING_SEEDS : HC_FINDING_TRAINING, name,
            protocol.backend, "%s: %s", hc_claim_names[protocol.arm[arm].claim], sentence);
}

/* Whether that protocol's claim is that the run does not learn. */
static bool is_to_fail(const struct hc_gate *gate, const struct hc_outcome *run)
{
    int subject = gate->protocol ? subject_of(run) : -1;
    return subject > 0 && protocol.arm[subject - 1].claim == HC_CLAIM_LOST;
}

/* For gate --protocol: sets the gate's margin and level to the protocol's, and judges the record's
   trainings by it: whether they were made as it asks, and what each of its arms claims, by its
   looks. A claim that is wrong is the finding "protocol/ARM", and so is one that is not decided.
   The rows "protocol/..." of the record, in which it judges itself, are not believed.
   HC_IO, HC_INVALID: the file is no protocol. */
static enum hc_status judge_by_protocol(struct hc_gate *gate, const struct hc_outcomes *trainings)
{
    enum hc_status status = open_study(gate->protocol);
    if (status != HC_OK)
        return status;
    gate->margin = protocol.margin;
    gate->level = protocol.plan.level;
    for (int i = 0; i < trainings->training_count; i++)
        take_training(gate, &trainings->trainings[i]);
    status = hc_conclude(&study, &conclusion);
    for (int a = 0; a < protocol.arms && status == HC_OK; a++)
        add_arm(gate, a);
    if (status == HC_OK && conclusion.runs > 0 && !conclusion.reached)
        hc_findings_add(&gate->findings, HC_FINDING_TRAINING, "protocol/base", protocol.backend,
                        "%s reaches %.2f %%, the protocol asks for %g %%", protocol.base,
                        conclusion.accuracy, protocol.reach);
    hc_training_close(&training);
    return status;
}

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

static int order_of_runs(const struct hc_outcome *a, const struct hc_outcome *b)
{
    int recipes = strcmp(a->recipe, b->recipe);
    return recipes ? recipes : strcmp(a->backend, b->backend);
}

/* The runs from `at` on that have its recipe and backend. */
static struct hc_training_set set_at(const struct hc_outcomes *all, int at)
{
    struct hc_training_set set = {.runs = all->trainings + at};
    while (at + set.count < all->training_count &&
           order_of_runs(set.runs, set.runs + set.count) == 0)
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
        if (!run->learned && is_to_fail(c->gate, run))
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
static void add_note(struct comparison *c, const struct hc_training_question *q,
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
    describe_difference(q, v, shown);
    describe_plan(q->margin, plan, needed);
    describe_epochs(v, epochs);
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
static void add_pooled_note(struct comparison *c)
{
    char text[HC_TRAINING_TEXT];
    struct hc_training_plan plan = {
        .level = c->gate->level, .deviation = sqrt(c->squares / c->freedom), .freedom = c->freedom};
    if (c->recipes < 2)
        return;
    hc_training_plan_runs(margin_of(c->gate), 0, &plan);
    describe_plan(margin_of(c->gate), &plan, text);
    hc_gate_note(c->gate, "all recipes together, as if they had one spread", "train/*", "", "%s",
                 text);
}

static void report(struct comparison *c, const struct hc_training_question *q,
                   const struct hc_training_verdict *v, const struct hc_training_plan *plan)
{
    char name[512];
    char shown[HC_TRAINING_TEXT];
    char needed[HC_TRAINING_TEXT];
    char epochs[HC_TRAINING_TEXT];
    const struct hc_outcome *run = q->is.runs;
    struct hc_findings *findings = &c->gate->findings;
    bool counts = answers[v->answer].kind != HC_FINDING_KINDS &&
                  (v->answer != HC_TRAINS_TOO_FEW || (v->is > 0 && v->was > 0));
    name_of(run, false, name);
    describe_difference(q, v, shown);
    describe_plan(q->margin, plan, needed);
    describe_epochs(v, epochs);
    if (counts) {
        hc_findings_add(findings, answers[v->answer].kind, name, run->backend,
                        "%s: %s; it takes %s", answers[v->answer].word, shown, needed);
        hc_findings_weigh(findings, fabs(v->accuracy.mean), "");
    }
    if (v->slower || v->faster)
        hc_findings_add(findings, v->slower ? HC_FINDING_EPOCHS : HC_FINDING_BETTER, name,
                        run->backend, "%s, %g %% interval of the difference %+.1f .. %+.1f", epochs,
                        100 - 200 * c->epochs_level, v->epochs.low, v->epochs.high);
    add_note(c, q, v, plan);
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
                        "trained on %s (%lld %s), was %s (%lld)", one->settings,
                        (long long)one->test_images, tests_of(one), a->settings,
                        (long long)a->test_images);
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
        report(c, &question, &verdict, &plan);
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
        int side = a == c->was.training_count ? 1
                   : b == c->is.training_count
                       ? -1
                       : order_of_runs(&c->was.trainings[a], &c->is.trainings[b]);
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
static bool is_reported(const struct hc_gate *gate, const struct hc_row *row)
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
            !hc_gate_chooses(gate, is->name) || is_reported(gate, is))
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

static enum hc_status compare_trainings(struct hc_gate *gate)
{
    struct comparison c = {.gate = gate};
    int recipes = 0;
    enum hc_status status = hc_outcomes_read("the baseline", gate->baseline, &c.was);
    if (status == HC_OK)
        status = hc_outcomes_read("the record", gate->record, &c.is);
    if (status == HC_OK && gate->protocol)
        status = judge_by_protocol(gate, &c.is);
    if (status == HC_OK)
        status = walk(&c, &recipes);
    c.epochs_level = 0.05 / (recipes > 0 ? recipes : 1);
    if (status == HC_OK)
        status = walk(&c, NULL);
    if (status == HC_OK) {
        add_pooled_note(&c);
        hc_gate_find_failures(gate, "train/");
        hc_gate_find_failures(gate, "compare/");
        find_undecided(gate);
    }
    hc_outcomes_free(&c.was);
    hc_outcomes_free(&c.is);
    return status;
}

const struct hc_gate_way hc_gate_training = {
    .applies = applies, .owns = owns, .compare = compare_trainings};
