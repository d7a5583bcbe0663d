/* Clipping in the trainer: between unscaling and the optimizer, over all gradients or over each
   group of parameters. The optimizer is SGD without momentum or decay, whose m is the gradient that
   it gets. */
#include "cases/fixture/update_fixture.h"
#include "cases/fixture/scalar.h"

#include <math.h>

enum { PARAMETERS = 2 * HC_FIXTURE_LAYERS };

static const float garbage = -431602080; /* bytes of 0xcd, the engine's uninitialised memory */

static struct hc_recipe plain(const char *name, double clip)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    recipe.clip = clip;
    if (recipe.scaler.rule != HC_SCALER_NONE)
        recipe.scaler.initial = 256;
    return recipe;
}

static bool weight(int i)
{
    return i % 2 == 0;
}

/* Weights of 2, norms and biases of 2^-6: every sum of their squares is exact in fp32. */
static double gradient(int i)
{
    return weight(i) ? 2 : 0x1p-6;
}

static void fill(struct hc_fixture *fixture)
{
    for (int i = 0; i < fixture->n && !fixture->failed; i++)
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++)
            hc_fixture_gradient(fixture, i, e, gradient(i));
}

/* The definition, each operation rounded by MPFR: (1 / (sqrt(s) + 1e-6)) * max, 1 where that is
   more. */
static double factor(double squares, double most)
{
    struct hc_scalar scalar = {.format = HC_FP32};
    double d = hc_scalar_add(&scalar, hc_scalar_sqrt(&scalar, squares), (double)1e-6F);
    return fmin(1, hc_scalar_mul(&scalar, hc_scalar_div(&scalar, 1, d), hc_round(HC_FP32, most)));
}

static double clipped(double g, double by)
{
    struct hc_scalar scalar = {.format = HC_FP32};
    return hc_scalar_mul(&scalar, g, by);
}

/* Four layers in three layer groups, counted by hand: floor(3 l / 4). */
static bool together(const struct hc_recipe *r, int i, int k)
{
    static const int part_of[HC_FIXTURE_LAYERS] = {0, 0, 1, 2};
    if (!r->clip_groups)
        return true;
    bool layers = r->group_rates.n == 0 || part_of[i / 2] == part_of[k / 2];
    return layers && (!r->split_bn_bias || weight(i) == weight(k));
}

static double squares_with(struct hc_fixture *fixture, const struct hc_recipe *r, int i)
{
    double sum = 0;
    for (int k = 0; k < PARAMETERS; k++)
        if (together(r, i, k))
            sum += (double)hc_parameter_count(&fixture->parameter[k]) * gradient(k) * gradient(k);
    return sum;
}

static bool clips(struct hc_check *check, const struct hc_recipe *recipe, int *touched)
{
    struct hc_fixture fixture;
    double norm[2] = {0};
    *touched = 0;
    hc_fixture_open_layers(&fixture, check, recipe);
    for (int step = 0; step < 2; step++) {
        fill(&fixture);
        hc_fixture_step(&fixture, 1e-3, 0);
    }
    for (int i = 0; i < fixture.n && !fixture.failed; i++) {
        double squares = squares_with(&fixture, recipe, i);
        double want = clipped(gradient(i), factor(squares, recipe->clip));
        double got = hc_fixture_get(&fixture, HC_STATE_M, i, 0);
        if (i < 2)
            norm[i] = sqrt(squares);
        hc_claim_value(check, "the gradient that the optimizer gets at step 2", want, got);
        *touched += got != gradient(i);
    }
    hc_say(check, "%-18s  %-16s  %-9s  %-12.6g  %.6g", recipe->name,
           recipe->clip_groups ? "each group" : "all together", recipe->group_rates.n ? "3" : "1",
           norm[0], norm[1]);
    return hc_fixture_close(&fixture);
}

/* Clipped over all, and by group. Norms and biases alone are below the limit, and above it together
   with the weights. */
static void by_group(struct hc_check *check)
{
    static const char *const names[] = {"fastai-1.0.61-clip", "amp", "fp32", "apex-O2",
                                        "fastai-004b-flat"};
    hc_say(check, "recipe              clipped to 0.1    layers in  norm that     norm that");
    hc_say(check, "                                      groups     clips weight  clips gamma");
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (int way = 0; way < 3; way++) {
            struct hc_recipe recipe = plain(names[k], 0.1);
            int touched;
            recipe.clip_groups = way > 0;
            recipe.split_bn_bias = way > 0;
            recipe.group_rates = (struct hc_per_layer_group){way == 2 ? 3 : 0, {1, 1, 1}};
            if (!clips(check, &recipe, &touched))
                return;
            hc_claim_value(check, "parameters whose gradient is not what it was",
                           way ? PARAMETERS / 2 : PARAMETERS, touched);
        }
}

/* S = 4096, one gradient of 1/8 in 16 elements, norm 1/2: nothing should be clipped at 1. */
static void before(struct hc_check *check)
{
    double got[2];
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_recipe recipe = plain("amp", 1);
        struct hc_fixture fixture;
        recipe.scaler.initial = 4096;
        recipe.clip_scaled = buggy != 0;
        hc_fixture_open_weights(&fixture, check, &recipe, 16, 1);
        hc_fixture_gradients(&fixture, 0.125);
        hc_fixture_step(&fixture, 1e-3, 0);
        got[buggy] = hc_fixture_get(&fixture, HC_STATE_M, 0, 0);
        if (!hc_fixture_close(&fixture))
            return;
    }
    double half = hc_round(HC_FP16, clipped(512, factor(16.0 * 512 * 512, 1)));
    hc_claim_value(check, "fixed arm: the gradient stays", 0.125, got[0]);
    hc_claim_value(check, "buggy arm: clipped as the scaled one", half / 4096, got[1]);
    hc_claim_true(check, "buggy arm: too small by more than 2000", got[1] < 0.125 / 2000);
}

/* fastai does not clip the gradients that it steps on after an overflow. At scale 1 it overlooks
   overflows, so it copies and clips: that group's norm is infinite. Recipes without an overflow
   check do the same. */
static void infinite(struct hc_check *check)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = plain("fastai-1.0.61-flat", 0.1);
    hc_fixture_open_layers(&fixture, check, &recipe);
    fill(&fixture);
    hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
    hc_fixture_step(&fixture, 1e-3, 0);
    if (!fixture.failed) {
        double m = hc_fixture_get(&fixture, HC_STATE_M, 2, 0);
        hc_claim_true(check, "held: the step on what lay in memory is taken", m != 0);
        hc_claim_value(check, "held: what lay in memory is not clipped", (double)garbage, m);
    }
    hc_fixture_close(&fixture);
    for (int unseen = 0; unseen < 2; unseen++) {
        recipe = plain(unseen ? "fastai-004b" : "fastai-1.0.61-clip", 0.1);
        recipe.scaler.initial = 1;
        hc_fixture_open_layers(&fixture, check, &recipe);
        fill(&fixture);
        hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
        hc_fixture_step(&fixture, 1e-3, 0);
        for (int i = 0; i < fixture.n && !fixture.failed; i++) {
            double got = hc_fixture_get(&fixture, HC_STATE_M, i, 0);
            if (i == 0)
                hc_claim_true(check, "the infinity is NaN", isnan(got));
            else
                hc_claim_value(check, "a finite gradient of its norm is 0, another's stays",
                               weight(i) || unseen ? 0 : gradient(i), got);
        }
        hc_say(check, "%-18s inf in a.filter makes the gradient of %s %g", recipe.name,
               fixture.parameter[1].name, hc_fixture_get(&fixture, HC_STATE_M, 1, 0));
        hc_fixture_close(&fixture);
    }
}

/* Gradients in an arena have gaps between them. A NaN must leave nothing there for the next
   step. */
static void after_nan(struct hc_check *check)
{
    for (int scaled = 0; scaled < 2; scaled++) {
        struct hc_recipe recipe = plain("amp", 100);
        struct hc_fixture fixture;
        recipe.clip_scaled = scaled != 0;
        recipe.clip = scaled ? 1e4 : 100;
        hc_fixture_open_layers(&fixture, check, &recipe);
        fill(&fixture);
        hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)NAN);
        hc_fixture_step(&fixture, 1e-3, 0);
        fill(&fixture);
        hc_fixture_step(&fixture, 1e-3, 0);
        if (!fixture.failed) {
            struct hc_counters counters = hc_fixture_counters(&fixture);
            hc_say(check, "amp, clipped %-6s unscaling: %d step skipped, %d taken",
                   scaled ? "before" : "after", counters.skipped, counters.taken);
            hc_claim_value(check, "steps skipped", 1, counters.skipped);
            hc_claim_value(check, "steps taken", 1, counters.taken);
            hc_claim_value(check, "the gradient of the second", 2,
                           hc_fixture_get(&fixture, HC_STATE_M, 0, 0));
        }
        hc_fixture_close(&fixture);
    }
}

static const struct hc_case cases[] = {
    {.name = "order/update-clips-by-group",
     .title =
         "the trainer clips the unscaled gradients bit for bit as torch defines it: all to one "
         "norm, or as fastai 1.0.61 does each group to its own",
     .source = "fastai1 fastai/callbacks/fp16.py @1.0.61, on_backward_end: for group in "
               "self.master_params: nn.utils.clip_grad_norm_(group, self.clip)",
     .run = by_group},
    {.name = "order/update-clips-before-unscale",
     .title =
         "a trainer that clips scaled gradients leaves them too small, by the scale's own order",
     .source = "https://github.com/Lightning-AI/pytorch-lightning/issues/9599, 'Clip norm after "
               "scaler.unscale_ in native fp16 training'",
     .run = before},
    {.name = "order/update-clips-infinite-norm",
     .title = "where an infinity is overlooked, clipping makes NaN of it and 0 of the finite "
              "gradients of its norm; gradients that were not copied are not clipped",
     .source = "https://github.com/pytorch/pytorch/issues/46849, 'clip_grad_norm_ silently passes "
               "when not finite'; fastai1 fastai/callbacks/fp16.py @1.0.61, on_backward_end",
     .run = infinite},
    {.name = "order/update-clips-after-a-nan",
     .title = "a skipped step whose norm was NaN leaves nothing that clips the next one",
     .source =
         "pytorch 2.15.0 torch/amp/grad_scaler.py: zero_grad and the next backward start anew",
     .run = after_nan},
};

HC_CASES(order_clip_update, cases);
