/* A comparison on several backends: which runs there are, what they are called, and what is told of
   what a backend alone changes. */
#include "cli/training/comparison.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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
