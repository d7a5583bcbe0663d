/* Drift: fp64 does not drift from itself; a format put into one source is found in that source; all
   sources together are the recipe. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "train/drift/drift.h"
#include "train/update/recipe_fields.h"

static struct hc_dataset set;

static struct hc_drift_study *study_on(const struct hc_backend *backend, int steps)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.seed = 1, .train_per_class = 2, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = backend,
                                       .threads = 1,
                                       .batch = 4,
                                       .steps = steps,
                                       .lr = 3e-4,
                                       .seed = 1};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    return study;
}

static struct hc_drift_study *study_of(int steps)
{
    return study_on(hc_backend_by_name("host"), steps);
}

static void end(struct hc_drift_study *study)
{
    hc_drift_close(study);
    hc_dataset_close(&set);
}

static struct hc_drift measured(struct hc_drift_study *study, const char *recipe)
{
    struct hc_drift drift;
    cr_assert_eq(hc_drift_measure(study, hc_recipe_by_name(recipe), &drift), HC_OK, "%s",
                 hc_message());
    return drift;
}

Test(drift, fp64_does_not_drift_from_itself)
{
    struct hc_drift_study *study = study_of(2);
    struct hc_drift d = measured(study, "fp64");
    cr_expect_eq(d.all.error, 0);
    cr_expect_eq(d.all.lost, 0);
    cr_expect_eq(d.free, 0);
    cr_expect_eq(d.residual_gradient, 0);
    cr_expect_eq(d.residual_free, 0);
    for (int k = 0; k <= HC_SOURCE_COUNT; k++)
        cr_expect(d.alone_gradient[k] == 0 && d.alone_free[k] == 0);
    end(study);
}

static bool is_codes(int k)
{
    return k >= HC_SOURCE_CODES && k < HC_SOURCE_ACCUMULATION;
}

/* u of fp32 is 2^-24, of half 2^-11. */
Test(drift, each_source_of_half_shows_and_fp32_is_thousands_of_times_closer)
{
    struct hc_drift_study *study = study_of(1);
    struct hc_drift half = measured(study, "adamw16");
    struct hc_drift single = measured(study, "fp32");
    cr_expect(half.all.error > 1e3 * single.all.error);
    for (int k = 0; k < HC_SOURCE_UPDATE; k++)
        cr_expect(k == HC_SOURCE_UNIT || k == HC_SOURCE_REDUCTION || is_codes(k) ||
                      !hc_source_is_of(k, false) ||
                      (half.alone_gradient[k] > 0 && half.alone_gradient[k] < 1),
                  "source %d", k);
    for (int k = HC_SOURCE_UPDATE; k < HC_SOURCE_COUNT; k++) {
        cr_expect_eq(half.alone_gradient[k], 0, "source %d", k);
        cr_expect(half.alone_free[k] > 0 || k == HC_SOURCE_STATE || !hc_source_is_of(k, false),
                  "source %d", k);
    }
    end(study);
}

/* On this backend products are taken in fp32 whatever their operands' format is, by the same
   kernels: so nothing is left over, in the gradients or in the weights. */
Test(drift, all_sources_together_are_the_recipe)
{
    static const char *const recipes[] = {"fp32",        "tf32", "fp16-bn32", "adamw16",
                                          "fastai-004b", "amp",  "amp-bf16",  "sum-loss-fp16"};
    struct hc_drift_study *study = study_of(2);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct hc_drift d = measured(study, recipes[i]);
        cr_expect(d.all.error > 0 && d.free > 0, "%s", recipes[i]);
        cr_expect_eq(d.residual_gradient, 0, "%s: %g of %g", recipes[i], d.residual_gradient,
                     d.all.error);
        cr_expect_eq(d.residual_free, 0, "%s: %g of %g", recipes[i], d.residual_free, d.free);
    }
    end(study);
}

static hc_kernel *plain_gemm;

/* The product of 16-bit numbers, its last 12 bits cut. */
static enum hc_status coarse_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    float sums[4096];
    struct hc_call wide = *call;
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    if (call->in[HC_GEMM_A].format != HC_BF16)
        return plain_gemm(queue, call);
    wide.out[HC_GEMM_OUT].format = HC_FP32;
    wide.out[HC_GEMM_OUT].data = sums;
    cr_assert_leq(hc_tensor_count(out), 4096);
    enum hc_status status = plain_gemm(queue, &wide);
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        uint32_t bits;
        memcpy(&bits, &sums[i], sizeof bits);
        bits &= 0xfffff000;
        memcpy(&sums[i], &bits, sizeof bits);
        hc_tensor_set(out, i, (double)sums[i]);
    }
    return status;
}

static struct hc_accumulator coarse_sums(const struct hc_backend *backend,
                                         const struct hc_call *call)
{
    struct hc_accumulator sums = backend->accumulator;
    if (call->op == HC_OP_gemm && call->in[HC_GEMM_A].format == HC_BF16)
        sums.precision = 12;
    return sums;
}

/* What the unit does is found by what the backend says of its sums. One that says nothing leaves it
   over, and in fp32 there is none. Where the inputs of products are not rounded, the unit takes no
   part. */
Test(drift, the_sums_of_a_matrix_unit_are_a_source)
{
    struct hc_backend with_unit = *hc_backend_by_name("exact");
    plain_gemm = with_unit.kernel[HC_OP_gemm];
    with_unit.kernel[HC_OP_gemm] = coarse_gemm;
    struct hc_backend silent = with_unit;
    with_unit.accumulates = coarse_sums;
    struct hc_drift_study *study = study_on(&with_unit, 2);
    struct hc_drift d = measured(study, "amp-bf16");
    struct hc_drift known = d;
    cr_expect(d.unit);
    cr_expect_eq(d.residual_gradient, 0);
    cr_expect_eq(d.residual_free, 0);
    cr_expect(d.alone_gradient[HC_SOURCE_UNIT] > 0 && d.alone_gradient[HC_SOURCE_UNIT] < 0.1);
    cr_expect(d.alone_free[HC_SOURCE_UNIT] > 0);
    cr_expect_neq(d.without_gradient[HC_SOURCE_UNIT], d.all.error);
    cr_expect_not(measured(study, "fp32").unit);
    end(study);
    study = study_on(&silent, 2);
    d = measured(study, "amp-bf16");
    cr_expect_not(d.unit);
    cr_expect(d.residual_gradient > 0 && d.residual_free > 0);
    cr_expect_eq(d.alone_gradient[HC_SOURCE_UNIT], 0);
    cr_expect_eq(d.without_free[HC_SOURCE_UNIT], d.alone_free[HC_SOURCE_COUNT]);
    for (int k = HC_SOURCE_WEIGHTS; k <= HC_SOURCE_LOSS; k++) {
        bool rounded = k != HC_SOURCE_WEIGHTS && k != HC_SOURCE_ACTIVATIONS &&
                       k != HC_SOURCE_GRADIENTS && k != HC_SOURCE_ACCUMULATION &&
                       k != HC_SOURCE_UNIT && k != HC_SOURCE_REDUCTION;
        cr_expect_eq(known.without_gradient[k] != d.without_gradient[k], rounded, "source %d", k);
    }
    end(study);
}

/* Somebody's own backend may have a unit that it says nothing of: what that does is no 0. */
Test(drift, what_an_unknown_unit_does_is_not_known)
{
    struct hc_backend own = *hc_backend_by_name("exact");
    own.free_order = true;
    struct hc_drift_study *study = study_on(&own, 1);
    struct hc_drift d = measured(study, "amp-bf16");
    cr_expect(isnan(d.alone_gradient[HC_SOURCE_UNIT]) && isnan(d.alone_free[HC_SOURCE_UNIT]));
    cr_expect_eq(d.without_gradient[HC_SOURCE_UNIT], d.alone_gradient[HC_SOURCE_COUNT]);
    d = measured(study, "fp32");
    cr_expect(isnan(d.alone_gradient[HC_SOURCE_UNIT]) && isnan(d.alone_free[HC_SOURCE_UNIT]));
    d = measured(study, "fp64");
    cr_expect(d.alone_gradient[HC_SOURCE_UNIT] == 0 && d.alone_free[HC_SOURCE_UNIT] == 0);
    end(study);
}

/* The backends sim-* have units of many kinds, and tell what they do by their accumulators. That of
   the MI300 changes a sum of bf16 by chance alone. */
Test(drift, all_sources_together_are_the_recipe_on_simulated_units)
{
    static const struct {
        const char *backend, *recipe;
    } units[] = {{"sim-h100", "amp"},
                 {"sim-mi300", "amp"},
                 {"sim-mi250", "adamw16"},
                 {"sim-amx", "amp-bf16"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct hc_drift_study *study = study_on(hc_backend_by_name(units[i].backend), 1);
        struct hc_drift d = measured(study, units[i].recipe);
        cr_expect(d.unit && d.alone_gradient[HC_SOURCE_UNIT] > 0, "%s", units[i].backend);
        cr_expect_eq(d.residual_gradient, 0, "%s", units[i].backend);
        cr_expect_eq(d.residual_free, 0, "%s", units[i].backend);
        end(study);
    }
}

/* Flat masters change no bit: of the second, only the runs with all sources are made again, forced
   and free. */
Test(drift, what_two_recipes_have_in_common_is_run_once)
{
    struct hc_drift_study *study = study_of(2);
    struct hc_drift first = measured(study, "fastai-004b");
    struct hc_drift second = measured(study, "fastai-004b-flat");
    cr_expect_eq(second.passes, 3, "%lld, after %lld", (long long)second.passes,
                 (long long)first.passes);
    cr_expect_eq(second.all.error, first.all.error);
    cr_expect_eq(second.free, first.free);
    for (int k = 0; k <= HC_SOURCE_COUNT; k++)
        cr_expect_eq(second.without_free[k], first.without_free[k]);
    end(study);
}

static hc_kernel *sound;
static int calls_left;

static enum hc_status failing_once(struct hc_queue *queue, const struct hc_call *call)
{
    return calls_left-- == 1 ? hc_fail(HC_NO_MEMORY, "planted") : sound(queue, call);
}

/* A convolution fails once, the first of all or a later one; the study goes on as if it never
   had. */
Test(drift, what_failed_once_is_not_kept_as_a_result)
{
    struct hc_drift want = {0};
    struct hc_drift got = {0};
    const struct hc_recipe *recipe = hc_recipe_by_name("adamw16");
    struct hc_drift_study *study = study_of(1);
    cr_assert_eq(hc_drift_measure(study, recipe, &want), HC_OK);
    end(study);
    struct hc_backend failing = *hc_backend_by_name("host");
    sound = failing.kernel[HC_OP_conv2d];
    failing.kernel[HC_OP_conv2d] = failing_once;
    static const int at[] = {1, 3, 9, 20, 47, 100};
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        study = study_on(&failing, 1);
        calls_left = at[i];
        cr_expect_eq(hc_drift_measure(study, recipe, &got), HC_NO_MEMORY, "call %d", at[i]);
        calls_left = 0;
        cr_assert_eq(hc_drift_measure(study, recipe, &got), HC_OK, "call %d", at[i]);
        cr_expect_eq(got.free, want.free, "call %d", at[i]);
        cr_expect_eq(got.all.error, want.all.error, "call %d", at[i]);
        for (int k = 0; k <= HC_SOURCE_COUNT; k++) {
            cr_expect_eq(got.alone_gradient[k], want.alone_gradient[k], "call %d", at[i]);
            cr_expect_eq(got.alone_free[k], want.alone_free[k], "call %d", at[i]);
            cr_expect_eq(got.without_gradient[k], want.without_gradient[k], "call %d", at[i]);
            cr_expect_eq(got.without_free[k], want.without_free[k], "call %d", at[i]);
        }
        end(study);
    }
}

/* Drift over ranks: the average over ranks is a source of its own. The recipe is one that a
   training over ranks has, and its formats explain all of its drift. */

enum { BATCH = 16 };

static struct hc_drift_study *study_over(int ranks, int steps)
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

static enum hc_status measure_text(struct hc_drift_study *study, const char *text,
                                   struct hc_drift *d)
{
    static struct hc_recipe recipe;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return hc_drift_measure(study, &recipe, d);
}

static struct hc_drift measured_over(struct hc_drift_study *study, const char *text)
{
    struct hc_drift d;
    cr_assert_eq(measure_text(study, text, &d), HC_OK, "%s: %s", text, hc_message());
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
            study = study_over(all[i].ranks, 1);
        }
        struct hc_drift d = measured_over(study, all[i].recipe);
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
    struct hc_drift_study *study = study_over(8, 2);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct hc_drift d = measured_over(study, recipes[i]);
        cr_expect(d.all.error == 0 && d.free == 0 && d.residual_free == 0, "%s", recipes[i]);
        for (int k = 0; k <= HC_SOURCE_COUNT; k++)
            cr_expect(d.alone_gradient[k] == 0 && d.alone_free[k] == 0, "%s", recipes[i]);
    }
    end(study);
}

/* Sums in fp16 show themselves; a tree in fp32 makes less than a thousandth of that. */
Test(drift_ranks, sums_in_fp16_show_and_a_tree_in_fp32_is_near_nothing)
{
    struct hc_drift_study *study = study_over(8, 1);
    struct hc_drift half = measured_over(study, "amp+wrapper=torch-ddp+reduce=fp16");
    struct hc_drift tree = measured_over(study, "amp");
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
    struct hc_drift_study *study = study_over(8, 1);
    struct hc_drift scaled = measured_over(study, "amp+wrapper=torch-ddp+reduce=fp16");
    struct hc_drift tiny =
        measured_over(study, "amp+wrapper=torch-ddp+reduce=fp16+loss_scale=1.52587890625e-5");
    double shown = tiny.alone_gradient[HC_SOURCE_REDUCTION];
    cr_expect(shown <= tiny.average_bound, "%g > %g", shown, tiny.average_bound);
    cr_expect(shown > 5 * scaled.average_bound, "%g beside %g", shown, scaled.average_bound);
    cr_expect(shown > tiny.average_bound / 100, "%g of %g", shown, tiny.average_bound);
    end(study);
}

/* A batch in one piece has no average, whatever shards its recipe has, and one rank none either. */
Test(drift_ranks, one_rank_is_a_run_as_it_always_was)
{
    struct hc_drift_study *plain = study_over(0, 1);
    struct hc_drift want = measured_over(plain, "amp+shards=8+reduce=fp16");
    end(plain);
    struct hc_drift_study *one = study_over(1, 1);
    struct hc_drift got = measured_over(one, "amp+reduce=fp16");
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
    struct hc_drift_study *study = study_over(3, 1);
    cr_expect_eq(measure_text(study, "amp", &d), HC_INVALID);
    cr_expect_str_eq(hc_message(), "a batch of 16 is not divisible into 3 shards");
    cr_expect_eq(measure_text(study, "amp+shards=8", &d), HC_INVALID);
    cr_expect_str_eq(hc_message(), "8 shards are not divisible among 3 ranks");
    cr_expect_eq(measure_text(study, "amp+norm_sync=true", &d), HC_INVALID);
    end(study);
}
