/* Drift over ranks: the average over ranks is a source of its own. The recipe is one that a
   training over ranks has, and its formats explain all of its drift. */
#include "train/drift/drift.h"

#include <criterion/criterion.h>
#include <string.h>

#include "train/update/recipe_fields.h"

enum { BATCH = 16 };

static struct hc_dataset set;

static struct hc_drift_study *study_of(int ranks, int steps)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.seed = 1, .train_per_class = 8, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name("host"),
                                       .threads = 1,
                                       .batch = BATCH,
                                       .ranks = ranks,
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

static enum hc_status measure(struct hc_drift_study *study, const char *text, struct hc_drift *d)
{
    static struct hc_recipe recipe;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return hc_drift_measure(study, &recipe, d);
}

static struct hc_drift measured(struct hc_drift_study *study, const char *text)
{
    struct hc_drift d;
    cr_assert_eq(measure(study, text, &d), HC_OK, "%s: %s", text, hc_message());
    return d;
}

/* Every wrapper, sums in every format, divisions before and after, and more shards than ranks. */
Test(drift_ranks, all_sources_together_are_the_recipe_over_ranks)
{
    static const struct {
        int ranks;
        const char *recipe;
    } all[] = {{2, "fp32"},
               {2, "amp+shards=8+reduce=fp16+loss_scale=1024"},
               {2, "sum-loss-fp16"},
               {8, "amp+wrapper=torch-ddp+reduce=fp16"},
               {8, "amp-bf16+reduce=bf16+algorithm=halving"},
               {8, "apex-O2+wrapper=apex-ddp+predivide=4"},
               {8, "adamw16+wrapper=fsdp"}};
    struct hc_drift_study *study = NULL;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (i == 0 || all[i].ranks != all[i - 1].ranks) {
            if (study)
                end(study);
            study = study_of(all[i].ranks, 1);
        }
        struct hc_drift d = measured(study, all[i].recipe);
        cr_expect(d.all.error > 0 && d.free > 0, "%s", all[i].recipe);
        cr_expect(d.alone_gradient[HC_SOURCE_REDUCTION] > 0, "%s", all[i].recipe);
        cr_expect_eq(d.residual_gradient, 0, "%s: %g of %g", all[i].recipe, d.residual_gradient,
                     d.all.error);
        cr_expect_eq(d.residual_free, 0, "%s: %g of %g", all[i].recipe, d.residual_free, d.free);
    }
    end(study);
}

Test(drift_ranks, fp64_over_ranks_does_not_drift_from_itself)
{
    static const char *const recipes[] = {"fp64", "fp64+wrapper=torch-ddp"};
    struct hc_drift_study *study = study_of(8, 2);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct hc_drift d = measured(study, recipes[i]);
        cr_expect(d.all.error == 0 && d.free == 0 && d.residual_free == 0, "%s", recipes[i]);
        for (int k = 0; k <= HC_SOURCE_COUNT; k++)
            cr_expect(d.alone_gradient[k] == 0 && d.alone_free[k] == 0, "%s", recipes[i]);
    }
    end(study);
}

/* Sums in fp16 show themselves; a tree in fp32 makes less than a thousandth of that. */
Test(drift_ranks, sums_in_fp16_show_and_a_tree_in_fp32_is_near_nothing)
{
    struct hc_drift_study *study = study_of(8, 1);
    struct hc_drift half = measured(study, "amp+wrapper=torch-ddp+reduce=fp16");
    struct hc_drift tree = measured(study, "amp");
    double shown = half.alone_gradient[HC_SOURCE_REDUCTION];
    double nothing = tree.alone_gradient[HC_SOURCE_REDUCTION];
    cr_expect(shown < half.average_bound && nothing < tree.average_bound);
    cr_expect(tree.average_bound < 0x1p-18 && tree.average_bound < shown / 50, "%g",
              tree.average_bound);
    cr_expect(shown > 0x1p-13, "%g", shown);
    cr_expect(nothing > 0 && nothing < shown / 1000, "%g beside %g", nothing, shown);
    cr_expect(half.alone_free[HC_SOURCE_REDUCTION] > tree.alone_free[HC_SOURCE_REDUCTION]);
    end(study);
}

/* With a loss scale of 2^-16 most of the average underflows in fp16. It is off by more than all
   roundings can make of it, so that only the bound's term for what underflows holds it; that term
   is not a hundred times what it must be either. */
Test(drift_ranks, an_average_that_underflows_needs_the_absolute_term_of_the_bound)
{
    struct hc_drift_study *study = study_of(8, 1);
    struct hc_drift scaled = measured(study, "amp+wrapper=torch-ddp+reduce=fp16");
    struct hc_drift tiny =
        measured(study, "amp+wrapper=torch-ddp+reduce=fp16+loss_scale=1.52587890625e-5");
    double shown = tiny.alone_gradient[HC_SOURCE_REDUCTION];
    cr_expect(shown <= tiny.average_bound, "%g > %g", shown, tiny.average_bound);
    cr_expect(shown > 5 * scaled.average_bound, "%g beside %g", shown, scaled.average_bound);
    cr_expect(shown > tiny.average_bound / 100, "%g of %g", shown, tiny.average_bound);
    end(study);
}

/* A batch in one piece has no average, whatever shards its recipe has, and one rank none either. */
Test(drift_ranks, one_rank_is_a_run_as_it_always_was)
{
    struct hc_drift_study *plain = study_of(0, 1);
    struct hc_drift want = measured(plain, "amp+shards=8+reduce=fp16");
    end(plain);
    struct hc_drift_study *one = study_of(1, 1);
    struct hc_drift got = measured(one, "amp+reduce=fp16");
    end(one);
    cr_expect(want.shards == 1 && got.shards == 1);
    cr_expect_eq(want.all.error, got.all.error);
    cr_expect_eq(want.free, got.free);
    cr_expect_eq(want.passes, got.passes);
    cr_expect_eq(got.alone_gradient[HC_SOURCE_REDUCTION], 0);
    cr_expect_eq(got.without_free[HC_SOURCE_REDUCTION], got.alone_free[HC_SOURCE_COUNT]);
}

Test(drift_ranks, what_cannot_be_divided_is_refused)
{
    struct hc_drift d;
    struct hc_drift_study *study = study_of(3, 1);
    cr_expect_eq(measure(study, "amp", &d), HC_INVALID);
    cr_expect_str_eq(hc_message(), "a batch of 16 is not divisible into 3 shards");
    cr_expect_eq(measure(study, "amp+shards=8", &d), HC_INVALID);
    cr_expect_str_eq(hc_message(), "8 shards are not divisible among 3 ranks");
    cr_expect_eq(measure(study, "amp+norm_sync=true", &d), HC_INVALID);
    end(study);
}
