/* Shares in tables and records, on numbers made by hand. */
#include "cli/training/drift_shares.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 3 };

static const struct hc_backend backend = {.name = "host"};
static struct hc_training training = {.backend = &backend, .network = &hc_darknet_tiny, .seed = 7};
static struct hc_comparison comparison = {.training = &training, .recipes = 1, .seeds = SEEDS};
static struct hc_drift drift[SEEDS];
static struct hc_drift_shares shares[SEEDS][HC_DRIFT_QUANTITIES];
static struct hc_drift_report report;

enum {
    WEIGHTS = 1 << HC_SOURCE_WEIGHTS,
    ACTIVATIONS = 1 << HC_SOURCE_ACTIVATIONS,
    OPTIMIZER = 1 << HC_SOURCE_OPTIMIZER
};

/* The gradient's squares are 2, 4 and 12. Activations have 1, 2 and 3 of them, weights the rest. */
static void setup(void)
{
    static const double all[SEEDS] = {2, 4, 12};
    comparison.recipe[0] = hc_recipe_by_name("adamw16");
    report = (struct hc_drift_report){.c = &comparison,
                                      .steps = 2,
                                      .seeds = SEEDS,
                                      .parts = 1,
                                      .seed = 7,
                                      .drift = drift,
                                      .shares = shares};
    for (int s = 0; s < SEEDS; s++) {
        drift[s] = (struct hc_drift){.recipe = comparison.recipe[0]};
        shares[s][HC_DRIFT_OF_GRADIENT] = (struct hc_drift_shares){
            .players = 2,
            .steps = 2,
            .all = all[s],
            .player = {{.sources = WEIGHTS, .alone = 2 * all[s], .share = all[s] - (s + 1)},
                       {.sources = ACTIVATIONS, .alone = all[s] / 4, .share = s + 1}},
            .pair = {{0, all[s]}, {all[s], 0}},
            .interaction = {{0, -1.25 * all[s]}, {-1.25 * all[s], 0}}};
        shares[s][HC_DRIFT_OF_WEIGHTS] = (struct hc_drift_shares){
            .players = 2,
            .steps = 1,
            .all = 1,
            .player = {{.sources = OPTIMIZER, .alone = 0.25, .share = 1.5, .error = (double)NAN},
                       {.sources = WEIGHTS | ACTIVATIONS,
                        .alone = 0.25,
                        .share = -0.5,
                        .error = (double)NAN}},
            .pair = {{0, 1}, {1, 0}},
            .interaction = {{0, 0.5}, {0.5, 0}}};
    }
}

static double real(const json_t *object, const char *key)
{
    return strtod(json_string_value(json_object_get(object, key)), NULL);
}

/* The ratio is 6 / 18, its error sqrt(7/3) / 18 (train/drift/drift_shapley_test.c), and Student's t
   with two degrees of freedom is 4.302652730 at 97.5 %, by any table. */
Test(drift_shares, the_interval_over_seeds_is_that_of_a_ratio, .init = setup)
{
    json_t *list = json_array();
    hc_drift_shares_add(list, &report);
    const json_t *of = json_object_get(json_array_get(list, 0), "gradient");
    const json_t *activations = json_array_get(json_object_get(of, "sources"), 1);
    double half = 4.302652730 * sqrt(7.0 / 3) / 18;
    cr_expect_str_eq(json_string_value(json_object_get(of, "over")), "seeds");
    cr_expect_eq(json_integer_value(json_object_get(of, "count")), SEEDS);
    cr_expect_eq(real(of, "square"), 6);
    cr_expect_eq(real(activations, "share"), 2);
    cr_expect(fabs(real(activations, "low") - (1.0 / 3 - half)) < 1e-9);
    cr_expect(fabs(real(activations, "high") - (1.0 / 3 + half)) < 1e-9);
    of = json_object_get(json_array_get(list, 0), "weights");
    cr_expect_str_eq(json_string_value(json_object_get(
                         json_array_get(json_object_get(of, "sources"), 1), "source")),
                     "weights + activations");
    json_decref(list);
}

static char *printed(void)
{
    static char text[8192];
    FILE *file = fmemopen(text, sizeof text, "w");
    cr_assert_not_null(file);
    hc_drift_print_shares(&report, 0, file);
    (void)fclose(file);
    return text;
}

/* Squares alone are 2 and 1/4 of all: together less than apart. Of the weights they are 1/4 and
   1/4: together more. */
Test(drift_shares, a_table_says_who_cancels_and_who_reinforces, .init = setup)
{
    char *text = printed();
    cr_expect_not_null(
        strstr(text, "adamw16: shares of the squared error, in %, mean over 3 seeds"));
    cr_expect_not_null(strstr(text, "\n  gradient: weights and activations cancel: apart 3.67e+00, "
                                    "together 2.45e+00\n"),
                       "%s", text);
    cr_expect_not_null(strstr(text, "\n  weights: optimizer and those with * reinforce each other: "
                                    "apart 7.07e-01, together 1.00e+00\n"),
                       "%s", text);
    cr_expect_not_null(strstr(text, "-50.00"), "%s", text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        cr_expect(strlen(line) <= 100 && line[strlen(line) - 1] != ' ', "%s", line);
}

Test(drift_shares, a_seed_that_is_not_finite_is_left_out_and_none_leaves_no_shares, .init = setup)
{
    json_t *list = json_array();
    shares[1][HC_DRIFT_OF_GRADIENT].all = (double)NAN;
    hc_drift_shares_add(list, &report);
    const json_t *of = json_object_get(json_array_get(list, 0), "gradient");
    cr_expect_eq(json_integer_value(json_object_get(of, "count")), 2);
    cr_expect_eq(real(of, "square"), 7);
    json_decref(list);
    for (int s = 0; s < SEEDS; s++)
        shares[s][HC_DRIFT_OF_WEIGHTS].all = (double)INFINITY;
    cr_expect_not_null(strstr(printed(), "\n  weights: not finite, so there are no shares\n"), "%s",
                       printed());
}

Test(drift_shares, without_them_nothing_is_printed, .init = setup)
{
    report.shares = NULL;
    cr_expect_str_eq(printed(), "");
}
