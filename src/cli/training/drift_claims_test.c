/* The claims of a drift's record, on numbers made by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "cli/training/drift_record.h"

enum { RECIPES = 5 };

static const struct hc_backend backend = {.name = "host"};
static struct hc_training training = {
    .backend = &backend, .network = &hc_darknet_tiny, .seed = 7, .batch = 4, .set = {.classes = 2}};
static struct hc_comparison comparison = {.training = &training, .recipes = RECIPES};
static struct hc_drift drift[RECIPES];
static struct hc_drift_report report = {
    .c = &comparison, .steps = 2, .seeds = 1, .parts = 1, .seed = 7, .drift = drift};

static void setup(void)
{
    static const char *const names[RECIPES] = {"fp64", "fastai-004b", "fastai-004b-flat", "bf16-sr",
                                               "nvfp4"};
    hc_plan_make(&hc_darknet_tiny, 2, &report.plan);
    for (int i = 0; i < RECIPES; i++) {
        comparison.recipe[i] = hc_recipe_by_name(names[i]);
        drift[i] = (struct hc_drift){.recipe = comparison.recipe[i], .finite = 2};
        if (i > 0) {
            drift[i].all.error = drift[i].free = 0.25;
            drift[i].residual_gradient = drift[i].residual_free = 0.125;
        }
    }
}

static const char *verdict(const char *name)
{
    static char text[32];
    size_t i;
    json_t *row;
    json_t *record = hc_record_new();
    hc_drift_claims(&report, record);
    (void)strcpy(text, "none");
    json_array_foreach(json_object_get(record, "results"), i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "case")), name) == 0)
            (void)snprintf(text, sizeof text, "%s",
                           json_string_value(json_object_get(row, "verdict")));
    }
    json_decref(record);
    return text;
}

Test(drift_claims, what_is_nearer_to_its_roundings_than_to_fp64_is_explained, .init = setup)
{
    cr_assert_str_eq(verdict("drift/fastai-004b-gradients-explained"), "PASS");
    cr_assert_str_eq(verdict("drift/fastai-004b-weights-explained"), "PASS");
    cr_assert_eq(hc_drift_failures(&report), 0);
    drift[1].residual_gradient = 0.25;
    cr_assert_str_eq(verdict("drift/fastai-004b-gradients-explained"), "FAIL");
    drift[1].residual_free = INFINITY;
    cr_assert_str_eq(verdict("drift/fastai-004b-weights-explained"), "FAIL");
    cr_assert_eq(hc_drift_failures(&report), 2);
}

Test(drift_claims, a_drift_that_is_not_finite_is_none, .init = setup)
{
    drift[1].free = NAN;
    drift[1].residual_free = NAN;
    cr_assert_str_eq(verdict("drift/fastai-004b-weights-explained"), "SKIPPED");
}

Test(drift_claims, nothing_is_said_of_weights_that_are_not_rounded_to_nearest, .init = setup)
{
    drift[3].residual_free = 1;
    cr_assert_str_eq(verdict("drift/bf16-sr-weights-explained"), "SKIPPED");
    cr_assert_str_eq(verdict("drift/bf16-sr-gradients-explained"), "PASS");
}

Test(drift_claims, a_recipe_below_half_is_explained_as_others_are, .init = setup)
{
    cr_assert_str_eq(verdict("drift/nvfp4-weights-explained"), "PASS");
    cr_assert_str_eq(verdict("drift/nvfp4-gradients-explained"), "PASS");
    drift[4].residual_gradient = 1;
    cr_assert_str_eq(verdict("drift/nvfp4-gradients-explained"), "FAIL");
}

Test(drift_claims, fp64_does_not_drift_from_itself_at_all, .init = setup)
{
    cr_assert_str_eq(verdict("drift/fp64-not-from-itself"), "PASS");
    drift[0].layer[0].error = 0x1p-60;
    cr_assert_str_eq(verdict("drift/fp64-not-from-itself"), "FAIL");
    drift[0].layer[0].error = NAN;
    cr_assert_str_eq(verdict("drift/fp64-not-from-itself"), "FAIL");
}

Test(drift_claims, an_average_over_ranks_has_a_bound, .init = setup)
{
    drift[1].ranks = drift[1].shards = 8;
    drift[1].average_bound = 0.125;
    drift[1].alone_gradient[HC_SOURCE_REDUCTION] = 0.0625;
    cr_assert_str_eq(verdict("drift/fastai-004b-ranks8-average-within-bound"), "PASS");
    drift[1].alone_gradient[HC_SOURCE_REDUCTION] = 0.25;
    cr_assert_str_eq(verdict("drift/fastai-004b-ranks8-average-within-bound"), "FAIL");
    drift[1].alone_gradient[HC_SOURCE_REDUCTION] = NAN;
    cr_assert_str_eq(verdict("drift/fastai-004b-ranks8-average-within-bound"), "SKIPPED");
    cr_assert_str_eq(verdict("drift/fastai-004b-average-within-bound"), "none");
}

Test(drift_claims, flat_masters_drift_as_those_by_parameter_do, .init = setup)
{
    cr_assert_str_eq(verdict("drift/fastai-004b-flat-as-fastai-004b"), "PASS");
    drift[2].free += 0x1p-50;
    cr_assert_str_eq(verdict("drift/fastai-004b-flat-as-fastai-004b"), "FAIL");
    cr_assert_str_eq(verdict("drift/bf16-sr-as-fastai-004b"), "none");
}
