/* Masters and the model's copy of them: what they begin with, and how they stay together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/training/update_fixture.h"

/* Masters and the model's copy of them, in the trainer's own update path. */

/* A recipe whose step is w -= lr * g and nothing else. */
static struct hc_recipe plain(const char *name)
{
    struct hc_recipe r = *hc_recipe_by_name(name);
    r.optimizer = HC_OPTIMIZER_SGD;
    r.weight_decay = 0;
    return r;
}

static void build(struct hc_fixture *fixture, struct hc_check *check)
{
    uint64_t seed = hc_check_seed(check);
    hc_fixture_open(fixture, check);
    hc_fixture_add(fixture, "conv", HC_ROLE_WEIGHT, 27, 0);
    hc_fixture_add(fixture, "gamma", HC_ROLE_NORM, 8, 1);
    hc_fixture_add(fixture, "linear", HC_ROLE_WEIGHT, 33, 0);
    hc_fixture_add(fixture, "bias", HC_ROLE_BIAS, 3, 0);
    for (int i = 0; i < fixture->n && !fixture->failed; i += 2)
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++)
            hc_fixture_set_parameter(fixture, i, e,
                                     0.1 * hc_random_normal(seed, 7, (uint64_t)(64 * i + e)));
}

/* How far a weight of the first tensor is at most from its initial value in build(). */
static double farthest(struct hc_fixture *fixture)
{
    uint64_t seed = hc_check_seed(fixture->check);
    double most = 0;
    for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[0]); e++) {
        double moved = hc_fixture_get(fixture, HC_STATE_MASTER, 0, e) -
                       0.1 * hc_random_normal(seed, 7, (uint64_t)e);
        most = fabs(moved) <= most ? most : fabs(moved);
    }
    return most;
}

static void random_step(struct hc_fixture *fixture, uint64_t step)
{
    uint64_t seed = hc_check_seed(fixture->check);
    for (int i = 0; i < fixture->n && !fixture->failed; i++)
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++)
            hc_fixture_gradient(fixture, i, e,
                                1e-3 * hc_random_normal(seed, 8 + step, (uint64_t)(64 * i + e)));
    hc_fixture_step(fixture, 1e-3, 0.9);
}

/* The same steps with masters in one arena for each decay group, and with one tensor for each
   parameter. */
static void flat_and_apart(struct hc_check *check)
{
    static const char *const names[] = {"fastai-004b-flat", "amp", "amp-bf16"};
    static const enum hc_state_tensor state[] = {HC_STATE_MASTER, HC_STATE_MODEL, HC_STATE_M,
                                                 HC_STATE_V};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct hc_recipe recipe = *hc_recipe_by_name(names[k]);
        struct hc_bytes bytes[2][HC_STATE_COUNT];
        double moved = 0;
        bool failed = false;
        recipe.decay_norm = false;
        for (int flat = 0; flat < 2 && !failed; flat++) {
            struct hc_fixture fixture;
            recipe.apart = !flat;
            recipe.flat = flat;
            build(&fixture, check);
            hc_fixture_start(&fixture, &recipe);
            for (uint64_t step = 0; step < 20; step++)
                random_step(&fixture, step);
            moved = farthest(&fixture);
            if (!fixture.failed)
                hc_claim_true(check, "20 steps move a weight, by no more than 5 rates each",
                              moved > 0 && moved <= 0.1);
            for (int p = 0; p < HC_STATE_COUNT; p++)
                bytes[flat][p] = hc_fixture_bytes(&fixture, (enum hc_state_tensor)p);
            failed = !hc_fixture_close(&fixture);
        }
        if (failed)
            return;
        hc_say(check, "%-16s  20 steps move 71 weights in 4 tensors by %g at most", names[k],
               moved);
        for (size_t p = 0; p < sizeof state / sizeof state[0]; p++) {
            char what[64];
            (void)snprintf(what, sizeof what, "the bytes of %s are the same, flat and apart",
                           hc_state_tensor_names[state[p]]);
            hc_claim_true(check, what, hc_bytes_equal(&bytes[0][state[p]], &bytes[1][state[p]]));
        }
    }
}

/* Buggy arm: half the model first, then copy it (nb_004b). Fixed arm: copy first. */
static void from_rounded(struct hc_check *check)
{
    static const char *const values[] = {"70000", "65519", "1e-8", "1234.567", "0.1"};
    enum { COUNT = sizeof values / sizeof values[0] };
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    for (int fixed = 0; fixed < 2; fixed++) {
        struct hc_fixture fixture;
        hc_fixture_open(&fixture, check);
        hc_fixture_add(&fixture, "w", HC_ROLE_WEIGHT, COUNT, 0);
        for (int e = 0; e < COUNT; e++)
            hc_fixture_set_parameter(&fixture, 0, e, hc_round(HC_FP32, strtod(values[e], NULL)));
        recipe.masters = fixed ? HC_MASTERS_FROM_FP32 : HC_MASTERS_FROM_MODEL;
        hc_fixture_start(&fixture, &recipe);
        for (int e = 0; e < COUNT; e++) {
            char what[64];
            struct hc_real *x = hc_real_new(0);
            hc_real_set_text(x, values[e]);
            uint64_t half = hc_real_bits(x, HC_FP16, HC_NEAREST);
            uint64_t single = hc_real_bits(x, HC_FP32, HC_NEAREST);
            double want = fixed ? hc_decode(HC_FP32, single) : hc_decode(HC_FP16, half);
            double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, e);
            hc_real_free(x);
            if (fixture.failed)
                break;
            (void)snprintf(what, sizeof what, "w = %s, master made %s half()", values[e],
                           fixed ? "before" : "after");
            hc_claim_value(check, what, want, master);
        }
        if (!hc_fixture_close(&fixture))
            return;
    }
}

/* Ten fits of four updates of 1e-4. Buggy arm: each fit makes its masters from the half weights, as
   on_train_begin does. Fixed arm: one start. A master's four updates stay below half an ulp of the
   model's 1, 2^-11; the gradient of the fixed arm is half(512 * 1e-4) / 512, each update rounds. */
static void made_anew(struct hc_check *check)
{
    struct hc_recipe recipe = plain("fastai-004b-flat");
    double update = hc_round(HC_FP16, 512e-4) / 512;
    double model[2];
    double master[2];
    hc_say(check, "masters    fit  master       model");
    for (int fixed = 0; fixed < 2; fixed++) {
        struct hc_fixture fixture;
        hc_fixture_open(&fixture, check);
        hc_fixture_add(&fixture, "w", HC_ROLE_WEIGHT, 1, 1);
        for (int fit = 1; fit <= 10; fit++) {
            if (fit == 1 || !fixed)
                hc_fixture_start(&fixture, &recipe);
            for (int step = 0; step < 4; step++) {
                hc_fixture_gradients(&fixture, -1e-4);
                hc_fixture_step(&fixture, 1, 0);
            }
            master[fixed] = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
            model[fixed] = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
            if (fit == 1 || fit % 5 == 0)
                hc_say(check, "%-9s  %3d  %-11.9g  %.9g", fixed ? "kept" : "made anew", fit,
                       master[fixed], model[fixed]);
        }
        if (!hc_fixture_close(&fixture))
            return;
    }
    hc_claim_value(check, "made anew at each fit: model", 1, model[0]);
    hc_claim_within(check, "made anew: master", 1 + 4 * update, master[0], 4 * ldexp(1, -24));
    hc_claim_within(check, "kept: master", 1 + 40 * update, master[1], 40 * ldexp(1, -24));
    hc_claim_within(check, "kept: master, as claimed", 1.0040, master[1], 0.5e-4);
    hc_claim_value(check, "kept: model", hc_round(HC_FP16, master[1]), model[1]);
}

/* +1 on the model's copy is gone after the next step; +1 on the master is in both. */
static void edits(struct hc_check *check)
{
    struct hc_recipe recipe = plain("fastai-004b-flat");
    struct hc_fixture fixture;
    hc_fixture_open_weights(&fixture, check, &recipe, 2, 1);
    hc_fixture_set(&fixture, HC_STATE_MODEL, 0, 0, 2);
    hc_fixture_set(&fixture, HC_STATE_MASTER, 0, 1, 2);
    hc_fixture_gradients(&fixture, 0);
    hc_fixture_step(&fixture, 1e-3, 0.9);
    for (int e = 0; e < 2 && !fixture.failed; e++) {
        double want = e ? 2 : 1;
        double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, e);
        double model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, e);
        hc_say(check, "%s += 1, and a step: master %g, model %g", e ? "master[1]" : "model[0]",
               master, model);
        hc_claim_value(check, e ? "edited master: master" : "edited copy: master", want, master);
        hc_claim_value(check, e ? "edited master: model" : "edited copy: model", want, model);
    }
    hc_fixture_close(&fixture);
}

/* What the asker in the forum printed, and how many copies of a weight there are: the model's and
   the master. */
static void formats(struct hc_check *check)
{
    struct hc_fixture fixture;
    build(&fixture, check);
    hc_fixture_start(&fixture, hc_recipe_by_name("fastai-004b-flat"));
    for (int i = 0; i < fixture.n && !fixture.failed; i++) {
        enum hc_format model = hc_update_tensor(fixture.update, HC_STATE_MODEL, i).format;
        enum hc_format master = hc_update_tensor(fixture.update, HC_STATE_MASTER, i).format;
        bool norm = fixture.parameter[i].role == HC_ROLE_NORM;
        hc_say(check, "%-6s model %s, master %s", fixture.parameter[i].name, hc_formats[model].name,
               hc_formats[master].name);
        hc_claim_true(check, "the optimizer's parameter is fp32", master == HC_FP32);
        if (fixture.parameter[i].role != HC_ROLE_BIAS)
            hc_claim_true(check, "it holds a number",
                          hc_fixture_get(&fixture, HC_STATE_MASTER, i, 0) != 0);
        hc_claim_true(check, "only batch norm is fp32 in the model",
                      model == (norm ? HC_FP32 : HC_FP16));
    }
    hc_fixture_close(&fixture);
}

static const char forum[] = "fast.ai forums, 'I think to_fp16 behaves in a weird way internally'";

/* What a training begins with: the weights that the optimizer works on, and the norms. */

/* Restated from the systems' own sources: the narrowest format that a weight and a norm's parameter
   have passed through when the first step begins. */
static const struct {
    const char *recipe;
    enum hc_format weight; /* as the optimizer has it */
    enum hc_format norm;
} begins[] = {
    {"fp32", HC_FP32, HC_FP32},
    {"tf32", HC_FP32, HC_FP32},
    {"fp64", HC_FP32, HC_FP32},
    {"fp16-pure", HC_FP16, HC_FP16},
    {"fp16-pure-fused", HC_FP16, HC_FP16},
    {"fp16-bn32", HC_FP16, HC_FP16}, /* half() of all, then float() of the norms */
    {"adamw16", HC_FP16, HC_FP16},
    {"sum-loss-fp16", HC_FP16, HC_FP32}, /* Network.half() passes over BatchNorm2d */
    {"apex-O0", HC_FP32, HC_FP32},
    {"apex-O1", HC_FP32, HC_FP32},
    {"apex-O2", HC_FP16, HC_FP32}, /* convert_network leaves batch norms alone */
    {"apex-O3", HC_FP16, HC_FP16},
    {"apex-fp16opt-static", HC_FP16, HC_FP16}, /* network_to_half does not */
    {"apex-fp16opt-dynamic", HC_FP16, HC_FP16},
    {"fastai-004b", HC_FP16, HC_FP16}, /* model2half: model.half(), bn2float */
    {"fastai-004b-flat", HC_FP16, HC_FP16},
    {"fastai-1.0.61", HC_FP16, HC_FP16},
    {"fastai-1.0.61-flat", HC_FP16, HC_FP16},
    {"fastai-1.0.61-static", HC_FP16, HC_FP16},
    {"fastai-1.0.61-clip", HC_FP16, HC_FP16},
    {"fastai2-nonnative", HC_FP16, HC_FP32}, /* convert_network, as Apex's */
    {"fastai2-native", HC_FP32, HC_FP32},
    {"amp", HC_FP32, HC_FP32},
    {"amp-bf16", HC_FP32, HC_FP32},
    {"bf16-pure", HC_BF16, HC_BF16},
    {"bf16-sr", HC_BF16, HC_BF16},
    {"bf16-kahan", HC_BF16, HC_BF16},
    {"fp8-te-delayed", HC_FP32, HC_FP32}, /* quantised from fp32 parameters */
    {"fp8-te-current", HC_FP32, HC_FP32},
    {"fp8-torchao-tensor", HC_FP32, HC_FP32},
    {"fp8-torchao-rowwise", HC_FP32, HC_FP32},
    {"fp8-torchao-rowwise-gw-hp", HC_FP32, HC_FP32},
    {"fp8-te-block", HC_FP32, HC_FP32},
    {"fp8-deepgemm", HC_FP32, HC_FP32},
    {"mxfp8-rp", HC_FP32, HC_FP32},
    {"mxfp8-floor", HC_FP32, HC_FP32},
    {"nvfp4", HC_FP32, HC_FP32},
};

enum { BEGINS = sizeof begins / sizeof begins[0] };

static int row_of(const char *recipe)
{
    for (int i = 0; i < BEGINS; i++)
        if (strcmp(begins[i].recipe, recipe) == 0)
            return i;
    return -1;
}

/* 0.1 in fp32 is neither a half nor a bfloat16. */
static void one_recipe(struct hc_check *check, const struct hc_recipe *recipe, int row,
                       int kinds[HC_FORMAT_COUNT][HC_FORMAT_COUNT])
{
    struct hc_fixture fixture;
    double x = (double)0.1F;
    hc_fixture_open(&fixture, check);
    hc_fixture_add(&fixture, "weight", HC_ROLE_WEIGHT, 3, x);
    hc_fixture_add(&fixture, "gamma", HC_ROLE_NORM, 3, x);
    hc_fixture_start(&fixture, recipe);
    double weight = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 1);
    double norm = hc_fixture_get(&fixture, HC_STATE_MODEL, 1, 1);
    double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 1, 1);
    if (!hc_fixture_close(&fixture))
        return;
    kinds[begins[row].weight][begins[row].norm]++;
    hc_claim_value(check, "the weight that the optimizer works on", hc_round(begins[row].weight, x),
                   weight);
    hc_claim_value(check, "a norm's parameter", hc_round(begins[row].norm, x), norm);
    hc_claim_value(check, "as the optimizer has it", hc_round(begins[row].norm, x), master);
}

static void first(struct hc_check *check)
{
    int n;
    int kinds[HC_FORMAT_COUNT][HC_FORMAT_COUNT] = {0};
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        int row = row_of(recipes[r].name);
        hc_claim_true(check, "the recipe has its statement in master/first.c", row >= 0);
        if (row >= 0)
            one_recipe(check, &recipes[r], row, kinds);
    }
    hc_say(check, "0.1 begins as a weight          as a norm's parameter   in");
    for (int w = 0; w < HC_FORMAT_COUNT; w++)
        for (int p = 0; p < HC_FORMAT_COUNT; p++)
            if (kinds[w][p])
                hc_say(check, "%-5s %-24.9g  %-5s %-16.9g  %2d recipes", hc_formats[w].name,
                       hc_round((enum hc_format)w, (double)0.1F), hc_formats[p].name,
                       hc_round((enum hc_format)p, (double)0.1F), kinds[w][p]);
}

static const struct hc_case cases[] = {
    {"master/edit-of-the-copy-is-overwritten",
     "an edit of the model's copy is gone after the next step; an edit of the master holds", forum,
     .run = edits},
    {"master/flat-and-apart-agree", "flat masters and one master per tensor give the same bits",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: flat_master, 'apparently it "
     "helps with performance'",
     .run = flat_and_apart},
    {"master/made-anew-at-each-fit",
     "ten fits of four updates of 1e-4: 1.0 with masters made anew, 1.0040 with kept ones",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: on_train_begin calls "
     "get_master on the half weights",
     .run = made_anew},
    {"master/made-from-rounded-weights",
     "masters made after half() have lost what half loses: 70000 is inf, 1e-8 is 0",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: model2half first, then "
     "get_master",
     .run = from_rounded},
    {"master/optimizer-sees-fp32",
     "after to_fp16 every parameter of the optimizer is fp32; the model is half but for batch norm",
     forum, .run = formats},
    {"master/first-values",
     "every recipe: the weights that the optimizer begins with, and the norms, have passed through "
     "the formats that the system's conversion takes them through",
     "fastai 1.0.61 fastai/torch_core.py, model2half, and fastai/callbacks/fp16.py, get_master; "
     "NVIDIA/apex @e13873de apex/fp16_utils/fp16util.py, network_to_half and convert_network; "
     "PyTorch forums 11815",
     .run = first},
};

HC_CASES(master_copies, cases);
