/* What the gate makes of the trainings of two records, in memory. */
#include "cli/gate/training_runs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 5 };

static const double by_epoch[] = {0.9, 0.95, 0.96};
static const double noise[SEEDS] = {-0.001, 0.001, 0, 0.0005, -0.0005};

static struct hc_outcome run_of(const char *recipe, int seed, double accuracy)
{
    return (struct hc_outcome){.recipe = recipe,
                               .backend = "host",
                               .seed = (uint64_t)seed,
                               .settings = "CIFAR-10, 5 epochs",
                               .test_images = 10000,
                               .learned = true,
                               .reason = "",
                               .accuracy = accuracy + noise[seed % SEEDS],
                               .test_loss = 0.1 + accuracy,
                               .train_loss = 0.2,
                               .accuracy_by_epoch = by_epoch,
                               .epochs = 3};
}

/* A record of runs of a recipe with the seeds from `first` on. */
static json_t *add(json_t *document, const char *recipe, int first, int count, double accuracy)
{
    for (int s = 0; s < count; s++) {
        struct hc_outcome run = run_of(recipe, first + s, accuracy);
        hc_outcomes_add(document, &run);
    }
    return document;
}

static json_t *trained(const char *recipe, int first, int count, double accuracy)
{
    return add(hc_record_new(), recipe, first, count, accuracy);
}

static json_t *member(json_t *document, int i)
{
    return json_array_get(json_object_get(document, "trainings"), (size_t)i);
}

static json_t *fail(json_t *document, int i)
{
    (void)json_object_set_new(member(document, i), "learned", json_false());
    (void)json_object_set_new(member(document, i), "reason", json_string("the loss is nan"));
    return document;
}

/* What the gate finds, as lines "kind name: text"; and its notes. */
static const char *found(json_t *was, json_t *is)
{
    static char text[8192];
    struct hc_record baseline;
    struct hc_record record;
    cr_assert_eq(hc_record_of("was", was, &baseline), HC_OK);
    cr_assert_eq(hc_record_of("is", is, &record), HC_OK);
    struct hc_gate gate = {.baseline = &baseline, .record = &record, .growth = HC_GATE_GROWTH};
    cr_assert_eq(hc_gate_compare(&gate), HC_OK, "%s", hc_message());
    text[0] = '\0';
    for (int i = 0; i < gate.findings.count; i++) {
        const struct hc_finding *f = &gate.findings.all[i];
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s %s: %s\n",
                       hc_finding_kinds[f->kind].name, f->name, f->text);
    }
    for (int i = 0; i < gate.note_count; i++) {
        size_t used = strlen(text);
        const char *word = gate.notes[i].word;
        (void)snprintf(text + used, sizeof text - used, "note %s: %s: %s\n", gate.notes[i].name,
                       word ? word : "told", gate.notes[i].text);
    }
    hc_gate_free(&gate);
    hc_record_free(&baseline);
    hc_record_free(&record);
    return text;
}

static void expect(json_t *was, json_t *is, const char *begin, const char *within)
{
    const char *text = found(was, is);
    cr_expect_eq(strncmp(text, begin, strlen(begin)), 0, "%s, want %s", text, begin);
    cr_expect_not_null(strstr(text, within), "%s, want %s", text, within);
}

Test(gate_training, the_same_bits_are_identical_with_any_number_of_seeds)
{
    expect(trained("amp", 1, 1, 0.95), trained("amp", 1, 1, 0.95),
           "note train/amp: identical: +0.00 points in 1 pair: accuracy and losses are equal; "
           "margin 0.5",
           "margin 0.5\n");
    expect(trained("amp", 1, 5, 0.95), trained("amp", 1, 5, 0.95), "note train/amp: identical",
           "runs that differ would take about 3 seeds a side for 0.5 points with 80 % power");
}

Test(gate_training, a_small_difference_is_equivalent_and_a_large_one_is_worse)
{
    expect(
        trained("amp", 1, 5, 0.95), trained("amp", 11, 5, 0.9495),
        "note train/amp: equivalent: accuracy -0.05 points, 90 % interval -0.14 .. +0.04 (5 runs, "
        "were 5), margin 0.5; 2.0 epochs to 94.50 %, was 2.0; it takes about 3 seeds a side",
        "");
    expect(trained("amp", 1, 5, 0.95), trained("amp", 1, 5, 0.9495),
           "note train/amp: equivalent: accuracy -0.05 points, 90 % interval ",
           "(5 pairs), margin");
    expect(trained("amp", 1, 5, 0.95), trained("amp", 11, 5, 0.94),
           "training train/amp: worse: accuracy -1.00 points, 90 % interval -1.09 .. -0.91",
           "note train/amp: told: accuracy -1.00");
    expect(trained("amp", 1, 5, 0.94), trained("amp", 11, 5, 0.95),
           "better train/amp: better: ", "+1.00 points");
}

Test(gate_training, too_few_seeds_are_not_comparable_and_it_is_said_how_many_would_do)
{
    expect(
        trained("amp", 1, 2, 0.95), trained("amp", 1, 2, 0.9495),
        "seeds train/amp: too few: 2 runs learned, 2 in the baseline: fewer than 3 show nothing; "
        "it takes about 3 pairs for 0.5 points",
        "note train/amp: told: 2 runs");
    json_t *wide = trained("amp", 1, 3, 0.95);
    (void)json_object_set_new(member(wide, 0), "accuracy", json_string("0.93"));
    expect(trained("amp", 11, 3, 0.95), wide, "seeds train/amp: not shown: accuracy -0.",
           "it takes about");
}

Test(gate_training, a_run_that_did_not_learn_is_worse_even_if_it_never_did)
{
    expect(trained("amp", 1, 3, 0.95), fail(trained("amp", 1, 3, 0.95), 1),
           "training train/amp-seed2: did not learn: the loss is nan", "note train/amp: identical");
    expect(fail(trained("amp", 1, 1, 0.95), 0), fail(trained("amp", 1, 1, 0.95), 0),
           "training train/amp-seed1: did not learn, as in the baseline: the loss is nan", "");
    expect(fail(trained("amp", 1, 1, 0.95), 0), trained("amp", 1, 1, 0.95),
           "better train/amp-seed1: learned; it did not before: the loss is nan", "");
}

/* Whatever a record claims of it. */
Test(gate_training, a_run_without_an_accuracy_did_not_learn)
{
    json_t *is = trained("amp", 1, 3, 0.95);
    for (int i = 0; i < 3; i++)
        (void)json_object_set_new(member(is, i), "accuracy", json_string("nan"));
    expect(trained("amp", 1, 3, 0.95), is,
           "training train/amp-seed1: did not learn: its accuracy or its loss is not finite", "");
    is = trained("amp", 11, 3, 0.95);
    (void)json_object_set_new(member(is, 1), "train_loss", json_string("nan"));
    expect(trained("amp", 1, 3, 0.95), is, "training train/amp-seed12: did not learn: its ", "");
}

Test(gate_training, what_was_trained_otherwise_is_not_compared)
{
    json_t *other = trained("amp", 1, 3, 0.95);
    (void)json_object_set_new(member(other, 1), "settings", json_string("CIFAR-10, 6 epochs"));
    expect(
        trained("amp", 1, 3, 0.95), other,
        "settings train/amp: trained on CIFAR-10, 6 epochs (10000 test images), was CIFAR-10, 5 ",
        "epochs (10000)\n");
    other = trained("amp", 1, 3, 0.95);
    (void)json_object_set_new(member(other, 0), "test_images", json_integer(2000));
    expect(trained("amp", 1, 3, 0.95), other, "settings train/amp: ", "(2000 test images)");
}

Test(gate_training, recipes_that_one_record_alone_has_are_missing_or_new)
{
    json_t *both = add(trained("amp", 1, 3, 0.95), "fp32", 1, 3, 0.95);
    json_t *less = trained("fp32", 1, 3, 0.95);
    expect(json_deep_copy(both), json_deep_copy(less), "missing train/amp: not trained, was 3 runs",
           "note train/fp32: identical");
    expect(less, fail(both, 1), "training train/amp-seed2: did not learn",
           "new train/amp: a new recipe, 3 runs");
}

/* The losses in its rows would say nothing of the accuracy. */
Test(gate_training, a_record_without_its_trainings_lacks_them)
{
    struct hc_row row = hc_row_claim("train/amp-seed1", "host", HC_PASS, 0.1, 1, "nat");
    row.note = row.repro = "";
    json_t *was = trained("amp", 1, 3, 0.95);
    json_t *is = hc_record_new();
    hc_record_add(was, &row);
    hc_record_add(is, &row);
    expect(was, is, "missing train/amp: not trained, was 3 runs", "");
}

Test(gate_training, a_row_that_fails_is_told_where_no_training_explains_it)
{
    struct hc_row rows[] = {hc_row_claim("train/amp-seed1", "host", HC_FAIL, 2, 1, "nat"),
                            hc_row_claim("train/amp-seed2", "host", HC_ERROR, 2, 1, "nat"),
                            hc_row_claim("compare/amp-as-fp32", "host", HC_ERROR, 2, 1, "points")};
    json_t *is = trained("amp", 1, 3, 0.95);
    for (int i = 0; i < 3; i++) {
        rows[i].note = rows[i].repro = "";
        hc_record_add(is, &rows[i]);
    }
    const char *text = found(trained("amp", 1, 3, 0.95), json_deep_copy(is));
    cr_expect_not_null(strstr(text, "verdict train/amp-seed1: FAIL, and new"), "%s", text);
    cr_expect_not_null(strstr(text, "verdict train/amp-seed2: ERROR, and new"), "%s", text);
    cr_expect_not_null(strstr(text, "verdict compare/amp-as-fp32: ERROR, and new"), "%s", text);
    text = found(trained("amp", 1, 3, 0.95), fail(is, 0));
    cr_expect_null(strstr(text, "verdict train/amp-seed1"), "%s", text);
}

/* Every run comes to 94.5 % an epoch later. */
Test(gate_training, more_epochs_to_the_target_are_worse)
{
    json_t *slow = trained("amp", 11, 5, 0.95);
    for (int i = 0; i < 5; i++)
        (void)json_object_set_new(member(slow, i), "accuracy_by_epoch",
                                  json_pack("[s, s, s, s]", "0.5", "0.9", "0.93", "0.96"));
    expect(trained("amp", 1, 5, 0.95), slow,
           "epochs train/amp: 4.0 epochs to 94.50 %, was 2.0, 90 % "
           "interval of the difference +1.4 .. +2.6",
           "note train/amp: equivalent");
}

/* Their rows are judged as a whole: no row of a training is compared by itself. */
Test(gate_training, rows_of_trainings_are_not_compared_one_by_one)
{
    struct hc_row row = hc_row_claim("train/amp-seed1", "host", HC_PASS, 0.1, 1, "nat");
    struct hc_row claim = hc_row_claim("compare/amp-as-fp32", "host", HC_PASS, 0.1, 1, "points");
    row.note = row.repro = claim.note = claim.repro = "";
    json_t *was = trained("amp", 1, 5, 0.95);
    json_t *is = trained("amp", 11, 5, 0.95);
    hc_record_add(was, &row);
    hc_record_add(was, &claim);
    claim.verdict = HC_FAIL;
    hc_record_add(is, &claim);
    expect(was, is, "verdict compare/amp-as-fp32: FAIL, did not fail before", "note train/amp");
    expect(trained("amp", 1, 3, 0.95), trained("amp", 1, 3, 0.95), "note ", "identical");
}

Test(gate_training, a_damaged_training_is_refused)
{
    struct hc_record baseline;
    struct hc_record record;
    json_t *bad = trained("amp", 1, 3, 0.95);
    (void)json_object_del(member(bad, 2), "learned");
    cr_assert_eq(hc_record_of("was", trained("amp", 1, 3, 0.95), &baseline), HC_OK);
    cr_assert_eq(hc_record_of("is", bad, &record), HC_OK);
    struct hc_gate gate = {.baseline = &baseline, .record = &record, .growth = HC_GATE_GROWTH};
    cr_expect_eq(hc_gate_compare(&gate), HC_INVALID);
    cr_expect_not_null(strstr(hc_message(), "the record: \"trainings\" 3: \"learned\""), "%s",
                       hc_message());
    hc_gate_free(&gate);
    hc_record_free(&baseline);
    hc_record_free(&record);
}
