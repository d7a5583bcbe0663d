/* A rule with a recipe's own numbers, which are no powers of two, in the trainer's update. */
#include "cases/fixture/update_fixture.h"

#include <math.h>

enum { COUNT = 64 };

static const struct {
    const char *recipe;
    bool reciprocal; /* torch and Apex multiply by 1 / scale, fastai divides */
} systems[] = {{"amp", true},
               {"fastai2-native", true},
               {"apex-O2", true},
               {"apex-fp16opt-dynamic", true},
               {"fastai2-nonnative", false},
               {"fastai-1.0.61", false}};

/* A step on halves from 0.1 to 1.1, or with an infinity among them. */
static void step(struct hc_fixture *fixture, int number, bool overflow)
{
    for (int e = 0; e < COUNT; e++) {
        double x = 0.1 + hc_random_uniform(hc_check_seed(fixture->check), 60 + (uint64_t)number,
                                           (uint64_t)e);
        hc_fixture_set(fixture, HC_STATE_GRADIENT, 0, e, x);
    }
    if (overflow)
        hc_fixture_set(fixture, HC_STATE_GRADIENT, 0, COUNT / 2, (double)INFINITY);
    hc_fixture_step(fixture, 1e-3, 0.9);
}

/* A product of 11 and 24 bits is exact in fp64. A quotient of such numbers that is rounded to 53
   bits and then to 24 equals the one rounded to 24 at once (Figueroa 1995: 53 >= 2 * 24 + 2). */
static double unscaled(double g, double scale, bool reciprocal)
{
    return reciprocal ? hc_round(HC_FP32, g * hc_round(HC_FP32, 1 / scale))
                      : hc_round(HC_FP32, g / scale);
}

/* How many of the gradients would differ if they were unscaled the other way. */
static int claim_gradients(struct hc_fixture *fixture, double scale, bool reciprocal)
{
    int differ = 0;
    for (int e = 0; e < COUNT; e++) {
        double g = hc_fixture_get(fixture, HC_STATE_GRADIENT, 0, e);
        double want = unscaled(g, scale, reciprocal);
        double got = hc_fixture_get(fixture, HC_STATE_MASTER_GRADIENT, 0, e);
        if (fixture->failed)
            return 0;
        hc_claim_value(fixture->check, "the unscaled gradient", want, got);
        differ += want != unscaled(g, scale, !reciprocal);
    }
    return differ;
}

/* Two clean steps grow the scale, an overflow backs it off, two clean steps grow it again. Each
   product is rounded to fp32 once. After fastai 1.0.61's step no gradients are left to compare. */
static void one_system(struct hc_check *check, int i)
{
    static const bool overflows[] = {false, false, true, false, false};
    struct hc_recipe recipe = *hc_recipe_by_name(systems[i].recipe);
    bool kept = recipe.scaler.rule != HC_SCALER_FASTAI;
    double scale = 1000;
    int differ = 0;
    int clean = 0;
    struct hc_fixture fixture;
    recipe.scaler.initial = 1000;
    recipe.scaler.growth = 1.5F;
    recipe.scaler.backoff = 0.3F;
    recipe.scaler.interval = 2;
    hc_fixture_open_weights(&fixture, check, &recipe, COUNT, 1);
    for (int s = 0; s < 5 && !fixture.failed; s++) {
        step(&fixture, s, overflows[s]);
        if (kept && !overflows[s])
            differ += claim_gradients(&fixture, scale, systems[i].reciprocal);
        clean = overflows[s] ? 0 : clean + 1;
        if (overflows[s])
            scale = hc_round(HC_FP32, scale * (double)0.3F);
        else if (clean == 2)
            scale = hc_round(HC_FP32, scale * 1.5);
        clean %= 2;
        double got = (double)hc_fixture_counters(&fixture).scale;
        if (!fixture.failed)
            hc_claim_value(check, systems[i].recipe, scale, got);
    }
    if (!hc_fixture_close(&fixture))
        return;
    hc_say(check, "%-20s 1000, grown by 1.5, backed off by 0.3, grown: %.9g", recipe.name, scale);
    if (kept)
        hc_claim_true(check, "dividing is not multiplying with the reciprocal", differ > 0);
}

static void own(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        one_system(check, (int)i);
}

static const struct hc_case cases[] = {
    {.name = "scaler/own-numbers",
     .title =
         "a recipe's own first scale, growth, backoff and interval are the rule's; gradients are "
         "divided by the scale or multiplied with its reciprocal as the system does",
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py: scale.double().reciprocal().float(); "
               "NVIDIA/apex "
               "@e13873de apex/amp/scaler.py: 1./scale; fastai 2.0.0 fastai/callback/fp16.py: "
               "grad.div_(self.loss_scale)",
     .run = own},
};

HC_CASES(scaler_own_numbers, cases);
