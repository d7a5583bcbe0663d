/* Drift of recipes below half: all sources together are the recipe, and each operand's quantisation
   is a source. */
#include <criterion/criterion.h>
#include <math.h>

#include "train/drift/drift.h"

static struct hc_dataset set;

static struct hc_drift_study *study_on(const char *backend, int steps)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.seed = 1, .train_per_class = 2, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name(backend),
                                       .threads = 1,
                                       .batch = 4,
                                       .steps = steps,
                                       .lr = 3e-4,
                                       .seed = 1};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    return study;
}

static void end(struct hc_drift_study *study)
{
    hc_drift_close(study);
    hc_dataset_close(&set);
}

static struct hc_drift measured(struct hc_drift_study *study, const struct hc_recipe *recipe)
{
    struct hc_drift drift;
    cr_assert_eq(hc_drift_measure(study, recipe, &drift), HC_OK, "%s", hc_message());
    return drift;
}

static void expect_nothing_left(const struct hc_drift *d)
{
    const char *name = d->recipe->name;
    cr_expect(d->all.error > 0 && d->free > 0, "%s", name);
    cr_expect_eq(d->residual_gradient, 0, "%s: %g of %g", name, d->residual_gradient, d->all.error);
    cr_expect_eq(d->residual_free, 0, "%s: %g of %g", name, d->residual_free, d->free);
}

/* Each operand makes a part of the drift by itself. An operand that is transposed or turned in one
   place and not in another gives a gradient that has nothing to do with that of fp64: their
   distance is about 1.4 times its length. What decoded numbers give in fp64 is what their codes
   give in fp32, up to a leaky ReLU or two that fall on the other side of 0. */
static void expect_sources(const struct hc_drift *d)
{
    double all = d->alone_gradient[HC_SOURCE_COUNT];
    for (int role = 0; role <= HC_QUANT_OF_DY; role++) {
        double alone = d->alone_gradient[HC_SOURCE_CODES + role];
        cr_expect(alone > 0.01 && alone < 0.95, "%s: %s %g", d->recipe->name,
                  hc_source_names[HC_SOURCE_CODES + role], alone);
        cr_expect_neq(d->without_gradient[HC_SOURCE_CODES + role], all, "%s", d->recipe->name);
        cr_expect(d->alone_free[HC_SOURCE_CODES + role] > 0, "%s", d->recipe->name);
    }
    cr_expect_lt(d->alone_gradient[HC_SOURCE_ACCUMULATION], 1e-5, "%s", d->recipe->name);
    cr_expect_lt(fabs(d->without_gradient[HC_SOURCE_ACCUMULATION] - all), 0.05 * all,
                 "%s: %g of %g", d->recipe->name, d->without_gradient[HC_SOURCE_ACCUMULATION], all);
}

/* The fp64 run makes the recipe's calls, with the same scales, random bits and transposes. The
   second pass has scales that the first one left behind. */
Test(drift_quant, all_sources_together_are_the_recipe_below_half)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    struct hc_drift_study *study = study_on("host", 2);
    for (int i = 0; i < n; i++)
        if (recipes[i].quant != HC_BY_NONE) {
            struct hc_drift d = measured(study, &recipes[i]);
            expect_nothing_left(&d);
            expect_sources(&d);
        }
    end(study);
}

/* Sums over columns are taken in another order than those of a convolution, also where nothing is
   quantised; and masters may be in half, as filters are then. */
Test(drift_quant, all_sources_together_are_other_recipes_by_im2col)
{
    static const struct {
        const char *recipe;
        int quant;
    } others[] = {{"fp32", HC_BY_IM2COL},         {"amp-bf16", HC_BY_IM2COL},
                  {"adamw16", HC_BY_MXFP8_FLOOR}, {"fp32", HC_BY_NVFP4_NO_RHT},
                  {"bf16-pure", HC_BY_IM2COL},    {"amp", HC_BY_NVFP4_1D}};
    struct hc_drift_study *study = study_on("host", 1);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct hc_recipe recipe = *hc_recipe_by_name(others[i].recipe);
        recipe.quant = others[i].quant;
        struct hc_drift d = measured(study, &recipe);
        expect_nothing_left(&d);
        bool codes = d.alone_gradient[HC_SOURCE_CODES] != 0;
        cr_expect_eq(codes, others[i].quant != HC_BY_IM2COL, "%s", recipe.name);
    }
    end(study);
}

/* The shards of a step have random bits of their own, as its passes have. */
Test(drift_quant, all_sources_together_are_the_recipe_over_ranks)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.seed = 1, .train_per_class = 4, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name("host"),
                                       .threads = 1,
                                       .batch = 8,
                                       .ranks = 2,
                                       .steps = 2,
                                       .lr = 3e-4,
                                       .seed = 1};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    struct hc_drift d = measured(study, hc_recipe_by_name("nvfp4"));
    expect_nothing_left(&d);
    end(study);
}

/* H100's unit takes codes of 8 bits, and its sums are a source: against sums in fp32 of the decoded
   numbers. It keeps fewer bits of them; where that moves a number into another code, what follows
   moves by a sixteenth of it. */
Test(drift_quant, the_unit_that_takes_codes_is_a_source)
{
    struct hc_drift_study *study = study_on("sim-h100", 1);
    static const char *const recipes[] = {"fp8-te-current", "fp8-te-block", "mxfp8-floor"};
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct hc_drift d = measured(study, hc_recipe_by_name(recipes[i]));
        expect_nothing_left(&d);
        cr_expect(d.unit && d.alone_gradient[HC_SOURCE_UNIT] > 0 &&
                      d.alone_gradient[HC_SOURCE_UNIT] < 0.95,
                  "%s: %g", recipes[i], d.alone_gradient[HC_SOURCE_UNIT]);
    }
    struct hc_recipe wide = *hc_recipe_by_name("fp32");
    wide.quant = HC_BY_TE_CURRENT;
    cr_expect(measured(study, &wide).unit);
    end(study);
}
