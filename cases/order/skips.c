/* Which step an overflow skips, by what the optimizer leaves: two steps, of which the second has an
   infinite gradient. Most systems skip it. fastai 1.0.61 steps on what its masters hold, and what
   looks for no overflow steps on the infinity. A trainer that asks the wrong verdict
   (overflowed, where it should ask skipped) is named here, before what clipping makes of it. */
#include <math.h>

#include "cases/fixture/training/update_fixture.h"

static const struct {
    const char *recipe;
    bool takes;
} rows[] = {
    {"amp", false},
    {"apex-O2", false},
    {"fastai2-nonnative", false},
    {"fastai2-native", false},
    {"fastai-1.0.61", true},
    {"fastai-1.0.61-flat", true},
    {"fastai-1.0.61-clip", true},
    {"fastai-004b", true},
    {"fp32", true},
};

static void skips(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_recipe recipe = *hc_recipe_by_name(rows[i].recipe);
        struct hc_fixture fixture;
        if (recipe.scaler.rule != HC_SCALER_NONE)
            recipe.scaler.initial = 256;
        hc_fixture_open_layers(&fixture, check, &recipe);
        hc_fixture_random_gradients(&fixture, 0, 0.5);
        hc_fixture_step(&fixture, 1e-3, 0.9);
        struct hc_bytes before = hc_fixture_bytes(&fixture, HC_STATE_M);
        hc_fixture_random_gradients(&fixture, 1, 0.5);
        hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
        hc_fixture_step(&fixture, 1e-3, 0.9);
        struct hc_bytes after = hc_fixture_bytes(&fixture, HC_STATE_M);
        bool failed = fixture.failed;
        if (!hc_fixture_close(&fixture) || failed)
            return;
        bool taken = !hc_bytes_same(&before, &after);
        hc_say(check, "%-20s %s the step with an infinite gradient", rows[i].recipe,
               taken ? "takes" : "skips");
        hc_claim_true(check,
                      rows[i].takes ? "a step that no overflow skips is taken"
                                    : "a step with an infinity is skipped",
                      taken == rows[i].takes);
    }
}

static const struct hc_case cases[] = {
    {.name = "order/skips-as-its-rule-says",
     .title =
         "an overflow skips the step under GradScaler's, Apex's and fastai 0.0.4b's rules, and "
         "fastai 1.0.61 takes it on what its masters hold",
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py; fastai1 fastai/callbacks/fp16.py @1.0.61, "
               "on_backward_end; src/op/control.h, overflow_verdict",
     .run = skips},
};

HC_CASES(order_skips, cases);
