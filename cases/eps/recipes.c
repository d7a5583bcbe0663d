/* The same epsilons in the trainer's recipes: half throughout against half with fp32 masters. */
#include "cases/fixture/update_fixture.h"

#include <math.h>

/* Three weights of 0.5 with the gradients 0, 1e-5 and 5e-3, one step of lr 1e-3 without decay. */
static bool step(struct hc_check *check, const char *name, double w[3])
{
    static const double g[3] = {0, 1e-5, 5e-3};
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    struct hc_fixture fixture;
    recipe.weight_decay = 0;
    hc_fixture_open_weights(&fixture, check, &recipe, 3, 0.5);
    for (int i = 0; i < 3; i++)
        hc_fixture_gradient(&fixture, 0, i, g[i]);
    hc_fixture_step(&fixture, 1e-3, 0.9);
    for (int i = 0; i < 3; i++)
        w[i] = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, i);
    hc_say(check, "%-16s eps %.0e: g = 0, 1e-5, 5e-3 make w = %.7g, %.7g, %.7g", name, recipe.eps,
           w[0], w[1], w[2]);
    return hc_fixture_close(&fixture);
}

/* The right step is lr for every gradient far above eps, up to a relative eps / g (1e-3 for g =
   1e-5), and 0 for 0. The ulp of half at 0.5 is 2^-11. */
static void recipes(struct hc_check *check)
{
    static const char *const masters[] = {"fp32", "fastai-004b-flat", "amp", "amp-bf16"};
    double w[3];
    if (!step(check, "fp16-pure", w))
        return;
    hc_claim_true(check, "fp16-pure: g = 0 gives NaN", isnan(w[0]));
    hc_claim_value(check, "fp16-pure: g = 1e-5", (double)-INFINITY, w[1]);
    if (!step(check, "adamw16", w))
        return;
    hc_claim_value(check, "adamw16: g = 0", 0.5, w[0]);
    hc_claim_value(check, "adamw16: g = 1e-5 moves nothing", 0.5, w[1]);
    for (size_t i = 0; i < sizeof masters / sizeof masters[0]; i++) {
        if (!step(check, masters[i], w))
            return;
        hc_claim_value(check, "masters: g = 0 moves nothing", 0.5, w[0]);
        for (int k = 1; k < 3; k++)
            hc_claim_within(check, "masters: one step of lr", 0.5 - 1e-3, w[k],
                            1e-3 * 1e-3 + ldexp(1, -24));
    }
}

static const struct hc_case cases[] = {
    {.name = "eps/recipes",
     .title = "the trainer's recipes: half throughout gives NaN and -inf, eps 1e-4 loses small "
              "gradients, masters make the right step",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision'; PyTorch forums 1765, 'Adam+Half Precision = NaNs?'; "
               "PyTorch forums 11815, 'Training with Half Precision': 'all parameters = NaN'",
     .run = recipes},
};

HC_CASES(eps_recipes, cases);
