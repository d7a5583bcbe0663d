/* Drift of a GPT: fp64 does not drift from itself; each of its sources shows; all together are the
   recipe, with nothing left over. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "op/defined.h"
#include "train/drift/drift.h"
#include "train/update/recipe_fields.h"

static struct hc_dataset text;

/* Three blocks, of which the one in the middle is quantised under plain_ends=1. */
static const struct hc_gpt three = {
    .blocks = 3, .width = 32, .heads = 2, .length = 16, .hidden = 32, .tied = true};
static const struct hc_network three_blocks = {.name = "three", .gpt = &three, .side = 1};

static struct hc_drift_study *study_of(const struct hc_network *network,
                                       const struct hc_backend *backend, int ranks, int steps)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.text = true, .seed = 1};
    cr_assert_eq(hc_dataset_open(&data, &text), HC_OK);
    struct hc_drift_options options = {.network = network,
                                       .data = &text,
                                       .backend = backend,
                                       .threads = 1,
                                       .batch = 4,
                                       .ranks = ranks,
                                       .steps = steps,
                                       .lr = 2e-3,
                                       .seed = 1};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    return study;
}

static struct hc_drift_study *study_on(const struct hc_backend *backend, int ranks, int steps)
{
    return study_of(&hc_gpt_tiny, backend, ranks, steps);
}

static void end(struct hc_drift_study *study)
{
    hc_drift_close(study);
    hc_dataset_close(&text);
}

static struct hc_drift measured(struct hc_drift_study *study, const char *fields)
{
    static struct hc_recipe recipe;
    static char name[HC_RECIPE_NAME];
    struct hc_drift drift;
    cr_assert_eq(hc_recipe_read(&recipe, name, fields, strlen(fields)), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_drift_measure(study, &recipe, &drift), HC_OK, "%s: %s", fields, hc_message());
    return drift;
}

static void expect_explained(const struct hc_drift *d, const char *recipe)
{
    cr_expect(d->all.error > 0 && d->free > 0, "%s", recipe);
    cr_expect_eq(d->residual_gradient, 0, "%s: %g of %g", recipe, d->residual_gradient,
                 d->all.error);
    cr_expect_eq(d->residual_free, 0, "%s: %g of %g", recipe, d->residual_free, d->free);
}

Test(drift_gpt, fp64_does_not_drift_from_itself)
{
    struct hc_drift_study *study = study_on(hc_backend_by_name("host"), 0, 2);
    struct hc_drift d = measured(study, "fp64");
    cr_expect(d.all.error == 0 && d.free == 0 && d.residual_gradient == 0 && d.residual_free == 0);
    for (int k = 0; k <= HC_SOURCE_COUNT; k++)
        cr_expect(d.alone_gradient[k] == 0 && d.alone_free[k] == 0, "source %d", k);
    end(study);
}

/* Every way of storing weights and moments, and products below half. */
Test(drift_gpt, all_sources_together_are_the_recipe)
{
    static const char *const recipes[] = {
        "fp32+beta2=0.95", "amp",  "amp-bf16+decay_norm=false", "bf16-pure", "adamw16",
        "fp8-te-delayed",  "nvfp4"};
    struct hc_drift_study *study = study_on(hc_backend_by_name("host"), 0, 2);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct hc_drift d = measured(study, recipes[i]);
        expect_explained(&d, recipes[i]);
    }
    end(study);
}

/* Learned positions, layer norms with their means and biases, and gelu. */
Test(drift_gpt, so_they_are_in_the_manner_of_gpt_2)
{
    static const char *const recipes[] = {"amp", "amp-bf16+decay_norm=false", "bf16-pure", "nvfp4"};
    struct hc_drift_study *study = study_of(&hc_gpt2_tiny, hc_backend_by_name("host"), 0, 2);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct hc_drift d = measured(study, recipes[i]);
        expect_explained(&d, recipes[i]);
    }
    end(study);
}

/* This backend stores P before products in both passes, as the definitions say it. */
Test(drift_gpt, all_sources_together_are_the_recipe_on_exact)
{
    struct hc_drift_study *study = study_on(hc_backend_by_name("exact"), 0, 1);
    struct hc_drift d = measured(study, "amp-bf16");
    expect_explained(&d, "amp-bf16");
    cr_expect(d.alone_gradient[HC_SOURCE_P] > 1e-5, "%g", d.alone_gradient[HC_SOURCE_P]);
    end(study);
}

Test(drift_gpt, blocks_that_are_not_quantised_are_no_source_of_codes)
{
    const char *recipe = "fp8-te-current+plain_ends=1";
    struct hc_drift_study *study = study_of(&three_blocks, hc_backend_by_name("host"), 0, 1);
    struct hc_drift d = measured(study, recipe);
    expect_explained(&d, recipe);
    struct hc_drift all = measured(study, "fp8-te-current");
    cr_expect(d.alone_gradient[HC_SOURCE_CODES] > 0 &&
              d.alone_gradient[HC_SOURCE_CODES] < all.alone_gradient[HC_SOURCE_CODES]);
    end(study);
}

Test(drift_gpt, all_sources_together_are_the_recipe_over_ranks)
{
    struct hc_drift_study *study = study_on(hc_backend_by_name("host"), 2, 1);
    struct hc_drift d = measured(study, "bf16-pure+reduce=bf16");
    expect_explained(&d, "bf16-pure");
    cr_expect(d.alone_gradient[HC_SOURCE_REDUCTION] > 0);
    end(study);
}

/* u of bf16 is 2^-8, of fp32 2^-24. */
Test(drift_gpt, each_source_shows_at_its_own_size)
{
    static const int stored[] = {HC_SOURCE_WEIGHTS,   HC_SOURCE_ACTIVATIONS,
                                 HC_SOURCE_GRADIENTS, HC_SOURCE_RESIDUAL,
                                 HC_SOURCE_OUTPUT,    HC_SOURCE_P,
                                 HC_SOURCE_DS,        HC_SOURCE_LOGITS,
                                 HC_SOURCE_EMBEDDING, HC_SOURCE_WEIGHT_GRADIENTS};
    static const int computed[] = {HC_SOURCE_ACCUMULATION, HC_SOURCE_LSE,   HC_SOURCE_ATTENTION,
                                   HC_SOURCE_ROTARY,       HC_SOURCE_GATED, HC_SOURCE_LOSS};
    static const int updates[] = {HC_SOURCE_OPTIMIZER, HC_SOURCE_STATE, HC_SOURCE_SQUARES,
                                  HC_SOURCE_MASTER};
    struct hc_drift_study *study = study_on(hc_backend_by_name("host"), 0, 2);
    struct hc_drift d = measured(study, "bf16-pure");
    for (size_t i = 0; i < sizeof stored / sizeof stored[0]; i++)
        cr_expect(d.alone_gradient[stored[i]] > 0x1p-20 && d.alone_gradient[stored[i]] < 0x1p-4,
                  "%s: %g", hc_source_names[stored[i]], d.alone_gradient[stored[i]]);
    for (size_t i = 0; i < sizeof computed / sizeof computed[0]; i++)
        cr_expect(d.alone_gradient[computed[i]] > 0 && d.alone_gradient[computed[i]] < 0x1p-18,
                  "%s: %g", hc_source_names[computed[i]], d.alone_gradient[computed[i]]);
    for (size_t i = 0; i < sizeof updates / sizeof updates[0]; i++) {
        cr_expect_eq(d.alone_gradient[updates[i]], 0, "%s", hc_source_names[updates[i]]);
        cr_expect(d.alone_free[updates[i]] > 0, "%s", hc_source_names[updates[i]]);
    }
    cr_expect_eq(d.alone_gradient[HC_SOURCE_NORM], 0);
    end(study);
}

static hc_kernel *sound;

/* lse in steps of 1/64: a rounding that no recipe has. */
static enum hc_status coarse_lse(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = sound(queue, call);
    const struct hc_tensor *lse = &call->out[HC_ATTENTION_LSE];
    for (int64_t i = 0; i < hc_tensor_count(lse) && call->in[HC_ATTENTION_Q].format == HC_BF16; i++)
        hc_tensor_set(lse, i, (double)(float)(round(hc_tensor_get(lse, i) * 64) / 64));
    return status;
}

Test(drift_gpt, what_a_kernel_rounds_beyond_its_recipe_is_left_over)
{
    struct hc_backend backend = *hc_backend_by_name("host");
    sound = backend.kernel[HC_OP_attention];
    backend.kernel[HC_OP_attention] = coarse_lse;
    struct hc_drift_study *study = study_on(&backend, 0, 1);
    struct hc_drift d = measured(study, "amp-bf16");
    cr_expect(d.residual_gradient > 0x1p-20, "%g", d.residual_gradient);
    end(study);
}

enum { MOST = 4096 };

/* Does not store dS before products: dq and dk are those of the same numbers in fp32. */
static enum hc_status without_ds(struct hc_queue *queue, const struct hc_call *call)
{
    static float in[HC_ATTENTION_BWD_DY + 1][MOST];
    static float out[3][MOST];
    struct hc_call wide = *call;
    enum hc_status status = sound(queue, call);
    if (call->in[HC_ATTENTION_BWD_Q].format != HC_BF16 || status != HC_OK)
        return status;
    for (int i = 0; i <= HC_ATTENTION_BWD_DY; i++) {
        cr_assert_leq(hc_tensor_count(&wide.in[i]), MOST);
        for (int64_t k = 0; k < hc_tensor_count(&wide.in[i]); k++)
            in[i][k] = (float)hc_tensor_get(&call->in[i], k);
        wide.in[i].format = HC_FP32;
        wide.in[i].data = in[i];
    }
    for (int i = 0; i < 3; i++) {
        wide.out[i].format = HC_FP32;
        wide.out[i].data = out[i];
    }
    status = sound(queue, &wide);
    for (int i = HC_ATTENTION_BWD_DQ; i <= HC_ATTENTION_BWD_DK; i++)
        for (int64_t k = 0; k < hc_tensor_count(&wide.out[i]); k++)
            hc_tensor_set(&call->out[i], k, (double)out[i][k]);
    return status;
}

/* Such a kernel stores P alone, so that nothing changes where dS is left out. */
Test(drift_gpt, p_shows_in_dv_and_ds_in_dq_and_dk)
{
    struct hc_backend backend = *hc_backend_by_name("host");
    struct hc_drift_study *study = study_on(&backend, 0, 1);
    struct hc_drift d = measured(study, "amp-bf16");
    cr_expect_neq(d.without_gradient[HC_SOURCE_DS], d.all.error);
    cr_expect_neq(d.without_gradient[HC_SOURCE_P], d.all.error);
    end(study);
    sound = backend.kernel[HC_OP_attention_backward];
    backend.kernel[HC_OP_attention_backward] = without_ds;
    study = study_on(&backend, 0, 1);
    d = measured(study, "amp-bf16");
    expect_explained(&d, "amp-bf16");
    cr_expect_eq(d.without_gradient[HC_SOURCE_DS], d.all.error);
    cr_expect_neq(d.without_gradient[HC_SOURCE_P], d.all.error);
    end(study);
}
