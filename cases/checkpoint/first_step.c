/* The first steps after a checkpoint that lacks a state tensor, a count or the scale. Each buggy
   arm changes the state as the loader in question did; the fixed arm has the whole state. */
#include <math.h>

#include "cases/fixture/update_fixture.h"

static const double unit = 0x1p-24; /* roundoff of fp32 */

static void count_as(struct hc_fixture *fixture, int32_t taken, float scale)
{
    struct hc_counters counters = hc_fixture_counters(fixture);
    counters.taken = taken;
    counters.scale = scale;
    if (!fixture->failed &&
        !hc_check_ok(fixture->check, hc_update_set_counters(fixture->update, &counters)))
        fixture->failed = true;
}

static double step(struct hc_fixture *fixture, double g, double lr, double beta1)
{
    hc_fixture_gradient(fixture, 0, 0, g);
    hc_fixture_step(fixture, lr, beta1);
    return hc_fixture_get(fixture, HC_STATE_MASTER, 0, 0);
}

/* A gradient of 200 fits into half times 256, not times 512. From 65536 the scale is halved 8
   times, and 8 of 12 steps are skipped. A step is 200 / 1024, and every number is exact. */
static void scaler(struct hc_check *check)
{
    static const double scales[] = {256, 65536};
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        double w = 1;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, w);
        count_as(&fixture, 0, (float)scales[buggy]);
        for (int i = 0; i < 12; i++)
            w = step(&fixture, 200, 0x1p-10, 0);
        struct hc_counters counters = hc_fixture_counters(&fixture);
        if (!hc_fixture_close(&fixture))
            return;
        hc_say(check, "resumed at a scale of %g: %d of 12 steps skipped, the weight %g",
               scales[buggy], counters.skipped, w);
        hc_claim_value(check, "steps skipped", 8 * buggy, counters.skipped);
        hc_claim_value(check, "scale in the end", 256, (double)counters.scale);
        hc_claim_value(check, "weight in the end", 1 - (buggy ? 4 : 12) * (200.0 / 1024), w);
    }
}

/* m = 1e-5, v = 1e-9 and no gradient: the step is beta1 m / (sqrt(beta2 v) + eps). Through half v
   is 0. Roundings of relative size u: m, beta1 and their product; v, beta2, their product, halved
   by the root; the root; eps and the sum; two quotients and the product with lr: less than 12.
   Corrections of bias are 1 at t = 10000. */
static void cast(struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        double m = 1e-5;
        double v = 1e-9;
        if (buggy) {
            m = hc_decode(HC_FP16, hc_encode(HC_FP16, m, 0, HC_NEAREST));
            v = hc_decode(HC_FP16, hc_encode(HC_FP16, v, 0, HC_NEAREST));
        }
        hc_fixture_open_weights(&fixture, check, &recipe, 1, 0);
        hc_fixture_set(&fixture, HC_STATE_M, 0, 0, m);
        hc_fixture_set(&fixture, HC_STATE_V, 0, 0, v);
        count_as(&fixture, 10000, 256);
        double got = -step(&fixture, 0, 1, 0.9);
        if (!hc_fixture_close(&fixture))
            return;
        double want = 0.9 * m / (sqrt(recipe.beta2 * v) + recipe.eps);
        hc_say(check, "v = %g: the first step is %g times the learning rate", v, got);
        hc_claim_within(check, buggy ? "step, state cast to half" : "step", want, got,
                        12 * unit * want);
        hc_claim_true(check,
                      buggy ? "buggy arm: 900 times the rate and more" : "fixed arm: below it",
                      buggy ? got > 900 : got < 1);
    }
}

/* After T steps of one gradient m = g (1 - beta1^T), v = g^2 (1 - beta2^T). Step k from a count of
   0 is (1 - beta1^(T+k)) / (1 - beta1^k) * sqrt((1 - beta2^k) / (1 - beta2^(T+k))) of the right
   one. Each step rounds m and v three times, and each of two coefficients was rounded once; those
   of v are halved by the root: 8 u a step is enough, 12 u for the rest, and 2 u of the weight,
   which is rounded before and after. eps is 1e-8 of g = 1 and is in the formula. At k = 1 that is
   (51 * 8 + 12) u and 2 u * 0.05 of 2^-10, in all less than the 1e-4 that "as before" allows. */
static void count(struct hc_check *check)
{
    enum { T = 50, K = 20 };
    static const double lr = 0x1p-10;
    static const double beta1 = (double)0.9F;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        double w = 0;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, w);
        count_as(&fixture, 0, 256);
        for (int i = 0; i < T; i++)
            w = step(&fixture, 1, lr, beta1);
        if (buggy)
            count_as(&fixture, 0, 256);
        for (int k = 1; k <= K && !fixture.failed; k++) {
            double before = w;
            int t = buggy ? k : T + k;
            w = step(&fixture, 1, lr, beta1);
            double m = (1 - pow(beta1, T + k)) / (1 - pow(beta1, t));
            double v = (1 - pow(recipe.beta2, T + k)) / (1 - pow(recipe.beta2, t));
            double want = lr * m / (sqrt(v) + recipe.eps);
            if (k == 1 || k == K)
                hc_say(check, "%s: step %d is %.4f of the right one",
                       buggy ? "count restarted" : "count kept", k, (before - w) / lr);
            hc_claim_within(check, "step", want, before - w,
                            ((T + k) * 8 + 12) * unit * want + 2 * unit * fabs(w));
            if (k == 1)
                hc_claim_true(check,
                              buggy ? "buggy arm: half as large again" : "fixed arm: as before",
                              buggy ? before - w > 1.5 * lr : fabs((before - w) / lr - 1) < 1e-4);
        }
        hc_fixture_close(&fixture);
    }
}

/* Four updates of 1e-4 from 1, a checkpoint, four more. A master is at 1.0008, which half sees as 1
   + 2^-10; one made again from the model's copy has forgotten the first four. Gradients are scaled
   and rounded in half: each is within 2^-11 of 1e-4, so that eight are more than the 2^-11 half
   sees, and four are less. */
static void masters(struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
        count_as(&fixture, 0, 512);
        for (int i = 0; i < 8; i++) {
            if (i == 4 && buggy)
                hc_fixture_set(&fixture, HC_STATE_MASTER, 0, 0,
                               hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0));
            (void)step(&fixture, -1e-4, 1, 0);
        }
        double model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
        double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        if (!hc_fixture_close(&fixture))
            return;
        hc_say(check, "masters %s: master %.9g, model %.10g",
               buggy ? "made again from the model's copy" : "kept", master, model);
        hc_claim_value(check, "model after eight updates", buggy ? 1 : 1 + 0x1p-10, model);
    }
}

static const struct hc_case cases[] = {
    {.name = "checkpoint/masters-made-again",
     .title = "masters made again from the model's copy have lost every update that the copy had "
              "not shown",
     .source = "NVIDIA/apex#42; fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb, "
               "get_master",
     .run = masters},
    {.name = "checkpoint/scaler-state-not-saved",
     .title = "a resume from 65536 instead of 256 skips 8 steps",
     .source = "huggingface/transformers#34053; open-mmlab/mmcv#1013",
     .run = scaler},
    {.name = "checkpoint/state-cast-to-the-parameters-format",
     .title =
         "optimizer state cast to half on load: v = 1e-9 is 0, and a step 3000 times too large",
     .source = "pytorch/pytorch#43706; facebookresearch/fairscale#50",
     .run = cast},
    {.name = "checkpoint/step-count-reset",
     .title = "with the step count reset to 0 Adam's bias correction starts over on moments that "
              "need none",
     .source = "deepspeedai/DeepSpeed#7786",
     .run = count},
};

HC_CASES(checkpoint_first_step, cases);
