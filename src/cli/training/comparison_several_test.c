/* A comparison on several backends: which runs there are, what they are called, and what is told of
   what a backend alone changes. */
#include "cli/training/comparison.h"
#include "cli/training/testing.h"

#include <math.h>

enum { BACKENDS = 3, RECIPES = 2, ENTRIES = BACKENDS * RECIPES, SEEDS = 2 };

static const struct hc_recipe recipes[] = {{.name = "fp32"}, {.name = "half"}};
static const struct hc_backend backends[] = {{.name = "one"}, {.name = "other"}, {.name = "host"}};
static const struct hc_network network = {.name = "net"};
static struct hc_training training;
static struct hc_training each[BACKENDS];
static struct hc_training_run runs[ENTRIES * SEEDS];

/* As `compare --recipes fp32,half --backend one,other,host --seeds 2`: fp32 is the same everywhere,
   half's accuracy differs by a point on `one`, and its losses by 0.25 and 0.5 on `other`. */
static struct hc_comparison three(void)
{
    struct hc_comparison c = {.training = &training,
                              .recipes = ENTRIES,
                              .base = 2,
                              .seeds = SEEDS,
                              .margin = 1,
                              .run = runs};
    training = (struct hc_training){.backend = &backends[0],
                                    .backend_count = BACKENDS,
                                    .network = &network,
                                    .seed = 7,
                                    .set = {.classes = 10}};
    for (int b = 0; b < BACKENDS; b++) {
        training.several[b] = &backends[b];
        each[b] = training;
        each[b].backend = &backends[b];
        each[b].backend_count = 0;
    }
    for (int r = 0; r < ENTRIES; r++) {
        c.recipe[r] = &recipes[r / BACKENDS];
        c.on[r] = &each[r % BACKENDS];
        c.seeds_of[r] = SEEDS;
    }
    for (int i = 0; i < ENTRIES * SEEDS; i++) {
        int r = i % ENTRIES;
        runs[i] = (struct hc_training_run){.recipe = c.recipe[r],
                                           .seed = 7 + (uint64_t)(i / ENTRIES),
                                           .result = {.finished = true,
                                                      .learned = true,
                                                      .accuracy = r == 3 ? 0.91 : 0.9,
                                                      .test_loss = r == 4 ? 0.5 : 0.25,
                                                      .train_loss = r == 4 ? 0.75 : 0.25,
                                                      .images_per_second = 100}};
    }
    return c;
}

static const char *printed(const struct hc_comparison *c)
{
    static char text[8192];
    FILE *out = fmemopen(text, sizeof text, "w");
    hc_comparison_print(c, out);
    (void)fclose(out);
    return text;
}

Test(comparison_several, a_recipe_is_named_with_its_backend)
{
    struct hc_comparison c = three();
    char label[HC_COMPARED_LABEL];
    char name[HC_COMPARED_LABEL + 40];
    hc_comparison_label(&c, 4, label);
    cr_expect_str_eq(label, "half on other");
    hc_comparison_folder(&c, 4, 8, name, sizeof name);
    cr_expect_str_eq(name, "half-on-other-seed8");
    for (int r = 0; r < ENTRIES; r++)
        cr_expect_eq(hc_comparison_counterpart(&c, r), r < BACKENDS ? 2 : 5, "%d", r);
    training.backend_count = 0;
    c.on[4] = NULL;
    hc_comparison_label(&c, 4, label);
    cr_expect_str_eq(label, "half");
    cr_expect_eq(hc_comparison_counterpart(&c, 4), 4);
}

Test(comparison_several, what_a_backend_alone_changes_is_told_of_each_recipe)
{
    struct hc_comparison c = three();
    struct hc_backend_change of_one = hc_comparison_change(&c, 3);
    struct hc_backend_change of_other = hc_comparison_change(&c, 4);
    cr_expect_eq(of_one.pairs, SEEDS);
    cr_expect_float_eq(of_one.accuracy, 1, 1e-12);
    cr_expect_eq(of_one.test_loss, 0);
    cr_expect_eq(of_other.test_loss, 0.25);
    cr_expect_eq(of_other.train_loss, 0.5);
    cr_expect_not(of_other.identical);
    cr_expect(hc_comparison_change(&c, 1).identical);
    const char *text = printed(&c);
    cr_expect_not_null(strstr(text, "\nWhat the backend alone changes, against the same recipe on "
                                    "host, in means over pairs of equal seed:\n"
                                    "fp32 on one            identical: accuracy and losses are "
                                    "equal in every pair\n"),
                       "%s", text);
    cr_expect_not_null(strstr(text, "half on other             +0.00 points   test loss +0.25   "
                                    "train loss +0.5\n"),
                       "%s", text);
    cr_expect_null(strstr(text, "half on host              +0.00 points   test loss"), "%s", text);
    runs[4].result.diverged = runs[4 + ENTRIES].result.diverged = true;
    cr_expect_eq(hc_comparison_change(&c, 4).pairs, 0);
    cr_expect_not_null(strstr(printed(&c), "half on other          no pair of runs has finite"));
}

TestSuite(comparison_several_run, .init = make, .fini = unmake);

/* exact and host sum in other orders. */
Test(comparison_several_run, every_recipe_trains_on_every_backend)
{
    cr_assert_lt(run("", "compare --recipes fp32,amp --backend exact,host " SMALL), 2, "%s",
                 content("stderr"));
    const char *said = content("stdout");
    cr_expect_not_null(strstr(said, ", backends exact, host\n"), "%s", said);
    cr_expect_not_null(strstr(said, "\namp on exact           seed 1   epoch 2/2 "), "%s", said);
    cr_expect_not_null(strstr(said, "Accuracy against fp32 on host, in pairs"), "%s", said);
    cr_expect_eq(shell("cut -d, -f1,2,17 out/compare/runs.csv | tr '\\n' ' ' >columns"), 0);
    cr_expect_str_eq(content("columns"), "recipe,seed,backend fp32,1,exact fp32,1,host "
                                         "amp,1,exact amp,1,host ");
    cr_expect_eq(shell("test -s out/compare/amp-on-exact-seed1/run.json"), 0);
    const char *record = content("out/compare/record.json");
    cr_expect_not_null(strstr(record, "\"compare/amp-as-fp32-on-host\""), "%s", record);
    cr_expect_not_null(strstr(record, "\"compare/fp32-as-fp32-on-host\""), "%s", record);
    cr_expect_eq(shell("python3 -c 'import json; r = json.load(open(\"out/compare/record.json\")); "
                       "rows = {(x[\"case\"], x[\"backend\"]) for x in r[\"results\"]}; "
                       "assert len(rows) == 7, rows; "
                       "assert r[\"run\"][\"backends\"] == [\"exact\", \"host\"]; "
                       "assert [(x[\"recipe\"], x[\"backend\"], x[\"against\"], x[\"pairs\"]) "
                       "for x in r[\"backends_alone\"]] == "
                       "[(\"fp32\", \"exact\", \"host\", 1), (\"amp\", \"exact\", \"host\", 1)]'"),
                 0);
    if (shell("gnuplot --version >/dev/null 2>&1") == 0)
        cr_expect_eq(shell("grep -q '>amp on exact<' out/compare/summary.svg"), 0);
}

Test(comparison_several_run, drift_is_measured_on_every_backend)
{
    cr_assert_eq(
        run("", "compare --drift --steps 1 --recipes amp-bf16 --backend host,exact " SMALL), 0,
        "%s", content("stderr"));
    const char *said = content("stdout");
    cr_expect_not_null(strstr(said, "\namp-bf16 on exact: its formats put into the fp64 run"), "%s",
                       said);
    cr_expect_not_null(strstr(said, "\nwhat the unit alone changes, against sums in fp32; and loss "
                                    "minus that on host\n"),
                       "%s", said);
    cr_expect_eq(shell("tail -n +2 out/compare/layers.csv | cut -d, -f7 | sort -u | tr '\\n' ' ' "
                       ">of"),
                 0);
    cr_expect_str_eq(content("of"), "exact host ");
    const char *record = content("out/compare/record.json");
    cr_expect_not_null(strstr(record, "drift/amp-bf16-weights-explained"), "%s", record);
}

/* A program says nothing of its unit: what that changes is not known, and no 0. */
Test(comparison_several_run, what_an_unknown_unit_changes_is_a_dash)
{
    cr_assert_eq(run("", "compare --drift --steps 1 --recipes amp --backend host --backend "
                         "'pipe:" HC_LOOPBACK " sim-h100 only=gemm' --fallback host " SMALL),
                 0, "%s", content("stderr"));
    cr_expect_eq(shell("grep -Eq '^amp on [a-z0-9-]+[+]host +- +- +[+-][0-9]' stdout"), 0, "%s",
                 content("stdout"));
    cr_expect_eq(shell("grep -Eq '^  fallback   loopback: [0-9]+ calls ran on its own; on host: ' "
                       "stdout"),
                 0);
    cr_expect_eq(shell("grep -Eq '^amp on host +0.00e[+]00 +0.00e[+]00 +[+-][0-9]' stdout"), 0);
}

Test(comparison_several_run, the_help_has_each_option_once)
{
    cr_assert_eq(run("", "compare --help"), 0);
    cr_expect_eq(shell("test -z \"$(grep -Eo '^ +--[a-z-]+' stdout | sort | uniq -d)\""), 0, "%s",
                 content("stdout"));
}

Test(comparison_several_run, one_that_cannot_run_is_refused_before_anything_trains)
{
    cr_expect_eq(run("", "compare --recipes fp32,amp --backend host,cuda-half " SMALL), 2);
    cr_expect_not_null(strstr(content("stderr"), "cuda-half"), "%s", content("stderr"));
    cr_expect_eq(run("", "compare --recipes fp32,amp --backend host,host " SMALL), 2);
    cr_expect_not_null(strstr(content("stderr"), "backend 'host' is named twice"), "%s",
                       content("stderr"));
    cr_expect_eq(run("", "train --recipe fp32 --backend host,exact " SMALL), 2);
    cr_expect_not_null(
        strstr(content("stderr"), "a training runs on one backend, not on host,exact"), "%s",
        content("stderr"));
    cr_expect_neq(access("out", F_OK), 0);
}
