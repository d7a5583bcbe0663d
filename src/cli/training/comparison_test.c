#include "cli/training/comparison.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/record.h"
#include "cli/testing_terminal.h"

enum { SEEDS = 4 };

static const struct hc_recipe recipes[] = {{.name = "half"}, {.name = "fp32"}, {.name = "odd"}};
static const struct hc_backend backend = {.name = "exact"};
static const struct hc_network network = {.name = "net"};
static struct hc_training training = {.backend = &backend,
                                      .network = &network,
                                      .seed = 7,
                                      .epochs = 2,
                                      .batch = 64,
                                      .max_lr = 3e-3,
                                      .set = {.classes = 10}};
static struct hc_training_run runs[3 * SEEDS];

/* half differs from fp32 by 0.1, -0.1, 0.1, -0.1 points, odd is 5 points worse. */
static struct hc_comparison make(int seeds)
{
    static const double fp32[SEEDS] = {0.94, 0.93, 0.95, 0.94};
    struct hc_comparison c = {.training = &training,
                              .recipe = {&recipes[0], &recipes[1], &recipes[2]},
                              .recipes = 3,
                              .base = 1,
                              .seeds_of = {seeds, seeds, seeds},
                              .seeds = seeds,
                              .margin = 1,
                              .run = runs};
    for (int i = 0; i < 3 * seeds; i++) {
        double half = fp32[i / 3] + (i / 3 % 2 ? -0.001 : 0.001);
        double accuracy[] = {half, fp32[i / 3], fp32[i / 3] - 0.05};
        runs[i] = (struct hc_training_run){.recipe = &recipes[i % 3],
                                           .seed = 7 + (uint64_t)(i / 3),
                                           .result = {.finished = true,
                                                      .learned = true,
                                                      .accuracy = accuracy[i % 3],
                                                      .test_loss = 0.2,
                                                      .train_loss = 0.1,
                                                      .images_per_second = 300 + 100 * (i % 3)}};
    }
    return c;
}

static void remove_files(const char *folder)
{
    static const char *const names[] = {"record.json", "runs.csv", "table.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        cr_expect_eq(unlink(path), 0, "%s", path);
    }
    (void)rmdir(folder);
}

static const char *printed(const struct hc_comparison *c)
{
    static char text[8192];
    FILE *out = fmemopen(text, sizeof text, "w");
    hc_comparison_print(c, out);
    (void)fclose(out);
    return text;
}

/* "unscaled" stays beside its column, and every table begins with the recipes. */
Test(comparison, the_table_is_parted_where_the_terminal_is_narrower)
{
    char name[64];
    char text[4096];
    struct hc_comparison c = make(SEEDS);
    int terminal = open_terminal(80, name, sizeof name);
    FILE *out = fopen(name, "w");
    cr_assert_not_null(out);
    (void)setvbuf(out, NULL, _IOFBF, sizeof text);
    hc_comparison_print(&c, out);
    (void)fclose(out);
    ssize_t length = read(terminal, text, sizeof text - 1);
    cr_assert_gt(length, 0);
    text[length] = '\0';
    (void)close(terminal);
    cr_expect_leq(widest_line(text), 80, "%s", text);
    cr_expect_not_null(strstr(text, "test loss  verdict"), "%s", text);
    cr_expect_not_null(strstr(text, "recipe                 dY = 0 % unscaled"), "%s", text);
    cr_expect_not_null(strstr(text, "images/s  of fp32"), "%s", text);
    cr_expect_null(strstr(printed(&c), "recipe                 dY"), "a file has one table");
}

/* By hand: mean 0, deviation 0.2 / sqrt 3 = 0.1155, t(0.95, 3) = 2.3534, half width 0.1359. */
Test(comparison, seeds_make_pairs_with_the_base)
{
    struct hc_comparison c = make(SEEDS);
    struct hc_difference half = hc_comparison_pairs(&c, 0).test;
    struct hc_difference odd = hc_comparison_pairs(&c, 2).test;
    cr_assert_eq(half.n, 4);
    cr_assert_float_eq(half.mean, 0, 1e-9);
    cr_assert_float_eq(half.high, 0.1359, 5e-5);
    cr_assert_eq(half.verdict, HC_EQUIVALENT);
    cr_assert_float_eq(odd.mean, -5, 1e-9);
    cr_assert_eq(odd.verdict, HC_DIFFERENT);
    cr_assert_eq(hc_comparison_failures(&c), 1);
    c.margin = 0.1;
    cr_assert_eq(hc_comparison_pairs(&c, 0).test.verdict, HC_UNDECIDED);
    cr_assert_eq(hc_comparison_failures(&c), 1);
    c.margin = 6;
    cr_assert_eq(hc_comparison_failures(&c), 0);
}

Test(comparison, one_pair_decides_nothing)
{
    struct hc_comparison c = make(1);
    cr_assert_eq(hc_comparison_failures(&c), 0);
    cr_assert_not_null(
        strstr(printed(&c), "odd                       -5.00 points   one pair decides"));
}

Test(comparison, a_run_that_did_not_learn_fails_whatever_its_peers_did)
{
    struct hc_comparison c = make(2);
    struct hc_train_result *result = &runs[3].result;
    result->learned = false;
    (void)strcpy(result->reason, "training loss nan");
    result->train_loss = NAN;
    c.margin = 50;
    cr_assert_eq(hc_comparison_failures(&c), 1);
    cr_assert_not_null(
        strstr(printed(&c), "FAIL  half, seed 8, did not learn: training loss nan\n"));
    result->learned = true;
    cr_assert_eq(hc_comparison_failures(&c), 0);
}

/* Equal in accuracy and in both losses; one that differs in a loss alone is another run. */
Test(comparison, identical_runs_are_said_to_be_identical)
{
    struct hc_comparison c = make(SEEDS);
    char text_of_pairs[HC_CONCLUSION_TEXT];
    for (int s = 0; s < SEEDS; s++)
        runs[3 * s].result.accuracy = runs[3 * s + 1].result.accuracy;
    const char *text = printed(&c);
    cr_expect_not_null(strstr(text, "half                      +0.00 points   identical: "
                                    "accuracy and losses are equal in every pair\n"),
                       "%s", text);
    cr_expect_null(strstr(text, "p 0"), "%s", text);
    hc_comparison_conclusion(&c, 0, text_of_pairs);
    cr_expect_str_eq(text_of_pairs, "identical: accuracy and losses are equal in every pair");
    cr_expect_eq(hc_comparison_pairs(&c, 0).test.verdict, HC_EQUIVALENT);
    runs[0].result.test_loss = nextafter(0.2, 1);
    text = printed(&c);
    cr_expect_null(strstr(text, "identical"), "%s", text);
    cr_expect_not_null(strstr(text, "equivalent: the difference is the same in all 4 pairs\n"),
                       "%s", text);
    c = make(1);
    runs[0].result.accuracy = runs[1].result.accuracy;
    cr_expect_not_null(
        strstr(printed(&c), "identical: accuracy and losses are equal in the one pair\n"), "%s",
        printed(&c));
}

static void diverge(int run, int64_t step)
{
    struct hc_train_result *result = &runs[run].result;
    result->learned = false;
    result->diverged = true;
    result->nan_from = step;
    result->accuracy = result->test_loss = result->train_loss = copysign(NAN, -1);
    result->underflow = result->unscaled = result->update_lost = copysign(NAN, -1);
}

Test(comparison, a_recipe_whose_runs_all_end_in_nan_has_no_other_numbers)
{
    struct hc_comparison c = make(2);
    struct hc_record record;
    char folder[] = "/tmp/halfcheck-comparison-XXXXXX";
    char path[64];
    diverge(0, 1);
    diverge(3, 1);
    const char *text = printed(&c);
    cr_expect_not_null(strstr(text, "\nhalf                      2  NaN from step 1  "), "%s",
                       text);
    cr_expect_not_null(strstr(text, "no pair of runs has finite losses in both"), "%s", text);
    cr_expect_null(strstr(text, "nan"), "%s", text);
    /* The lines of all recipes are equally long: the words stand over whole columns. */
    const char *half = strstr(text, "\nhalf ") + 1;
    const char *fp32 = strstr(text, "\nfp32 ") + 1;
    cr_expect_eq(strcspn(half, "\n"), strcspn(fp32, "\n"), "%s", text);
    diverge(3, 9);
    cr_expect_not_null(strstr(printed(&c), "2  NaN from step 1 to 9  "));
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(hc_comparison_write(&c, folder), HC_OK, "%s", hc_message());
    (void)snprintf(path, sizeof path, "%s/record.json", folder);
    cr_assert_eq(hc_record_read(path, &record), HC_OK, "%s", hc_message());
    const struct hc_row *pair = hc_record_find(&record, "compare/half-as-fp32", "exact");
    cr_expect_eq(pair->verdict, HC_FAIL);
    cr_expect_eq(strncmp(pair->note, "NaN from step 1 to 9; no pair", 29), 0, "%s", pair->note);
    cr_expect_str_eq(hc_record_find(&record, "train/half-seed7", "exact")->note, "NaN from step 1");
    hc_record_free(&record);
    remove_files(folder);
}

Test(comparison, a_run_that_ends_in_nan_is_left_out_of_its_recipes_means)
{
    struct hc_comparison c = make(SEEDS);
    diverge(0, 17);
    const char *text = printed(&c);
    cr_expect_not_null(strstr(text, "half: 1 of 4 runs NaN from step 17; its means are"), "%s",
                       text);
    /* 92.9, 95.1 and 93.9: mean 93.97, squares 1.1378 + 1.2844 + 0.0044 over 2: deviation 1.10. */
    cr_expect_not_null(strstr(text, "half                      4   93.97 (1.10)"), "%s", text);
    cr_expect_eq(hc_comparison_pairs(&c, 0).test.n, 3);
}

Test(comparison, a_run_that_did_not_finish_makes_no_pair)
{
    struct hc_comparison c = make(SEEDS);
    runs[0].result.finished = false;
    runs[4].result.finished = false;
    cr_assert_eq(hc_comparison_pairs(&c, 0).test.n, 2);
    cr_assert_eq(hc_comparison_pairs(&c, 2).test.n, 3);
}

Test(comparison, the_table_shows_means_deviations_and_the_ratio_of_speeds)
{
    struct hc_comparison c = make(SEEDS);
    const char *text = printed(&c);
    /* 94.1, 92.9, 95.1, 93.9: mean 94, squares 0.01 + 1.21 + 1.21 + 0.01 over 3: 0.90. */
    cr_assert_not_null(strstr(text, "half                      4   94.00 (0.90)"), "%s", text);
    cr_assert_not_null(strstr(text, "       300     0.75  PASS\n"), "%s", text);
    cr_assert_not_null(strstr(text, "       400     1.00  PASS\n"), "%s", text);
    cr_assert_not_null(strstr(text, "Numbers are means over the runs; "), "%s", text);
    cr_assert_not_null(strstr(text, " points   equivalent: 4 pairs, 90 % interval "), "%s", text);
    cr_assert_not_null(strstr(text, "   FAIL: different: 4 pairs, "), "%s", text);
    c.margin = 0.1;
    text = printed(&c);
    /* 2.9264^2 (0.1155 / 0.1)^2 = 11.4 by the normal distribution; t asks for one or two more. */
    cr_assert_not_null(strstr(text, "; about 13 pairs could decide\n"), "%s", text);
}

Test(comparison, no_ratio_is_made_of_a_speed_that_was_measured_beside_other_work)
{
    struct hc_comparison c = make(SEEDS);
    runs[3].others = 1e6; /* CPUs; the first recipe's second run */
    const char *text = printed(&c);
    cr_assert_not_null(strstr(text, "      300*        -  PASS\n"), "%s", text);
    cr_assert_not_null(strstr(text, "       400     1.00  PASS\n"), "%s", text);
    cr_assert_not_null(strstr(text, "\n* was measured beside other work"), "%s", text);
    runs[3].others = 0;
    cr_assert_null(strstr(printed(&c), "beside other work"));
}

Test(comparison, the_record_holds_every_run_and_every_pair)
{
    struct hc_comparison c = make(SEEDS);
    struct hc_record record;
    char folder[] = "/tmp/halfcheck-comparison-XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    runs[5].result.learned = false;
    (void)strcpy(runs[5].result.reason, "because");
    cr_assert_eq(hc_comparison_write(&c, folder), HC_OK, "%s", hc_message());
    (void)snprintf(path, sizeof path, "%s/record.json", folder);
    cr_assert_eq(hc_record_read(path, &record), HC_OK, "%s", hc_message());
    cr_assert_eq(record.count, 3 * SEEDS + 2);
    const struct hc_row *learnt = hc_record_find(&record, "train/odd-seed7", "exact");
    const struct hc_row *lost = hc_record_find(&record, "train/odd-seed8", "exact");
    const struct hc_row *same = hc_record_find(&record, "compare/half-as-fp32", "exact");
    const struct hc_row *other = hc_record_find(&record, "compare/odd-as-fp32", "exact");
    cr_assert_eq(learnt->verdict, HC_PASS);
    cr_assert_eq(lost->verdict, HC_FAIL);
    cr_assert_not_null(strstr(lost->note, "because"));
    cr_assert_float_eq(lost->bound, 0.9 * log(10), 1e-15);
    cr_assert_eq(same->verdict, HC_PASS);
    cr_assert_eq(same->checked, 4);
    cr_assert_eq(other->verdict, HC_FAIL);
    cr_assert_float_eq(other->error, 5, 1e-9);
    cr_assert_eq(other->bound, 1);
    hc_record_free(&record);
    remove_files(folder);
}
