/* What an infinity does without an overflow check, beside GradScaler's rule. (What every recipe
   lets change in such a step: cases/skip.) */
#include "cases/fixture/update_fixture.h"

#include <math.h>

/* Scale 512 and g = 128: half(512 g) is infinite, nothing checks for it, and m, v and the master
   are lost; a hundred clean steps later they still are. The fixed arm, GradScaler's rule, skips the
   step. */
static void poisons(struct hc_check *check)
{
    static const char *const names[] = {"fastai-004b-flat", "amp"};
    hc_say(check, "recipe           step  master      m           v           another master");
    for (int arm = 0; arm < 2; arm++) {
        struct hc_fixture fixture;
        hc_fixture_open_weights(&fixture, check, hc_recipe_by_name(names[arm]), 2, 1);
        for (int step = 1; step <= 101 && !fixture.failed; step++) {
            hc_fixture_gradient(&fixture, 0, 0, step == 2 ? 128 : 1e-3);
            hc_fixture_gradient(&fixture, 0, 1, 1e-3);
            hc_fixture_step(&fixture, 1e-3, 0.9);
            if (step <= 3 || step == 101)
                hc_say(check, "%-16s %4d  %-10.7g  %-10.4g  %-10.4g  %.7g", names[arm], step,
                       hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_M, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_V, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 1));
        }
        double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        double model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
        double beside = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 1);
        if (!fixture.failed && arm == 0) {
            hc_claim_true(check, "static 512: the master is NaN for ever", isnan(master));
            hc_claim_true(check, "static 512: the model too", isnan(model));
            hc_claim_true(check, "static 512: other weights go on", beside < 1);
        } else if (!fixture.failed) {
            struct hc_counters c = hc_fixture_counters(&fixture);
            hc_claim_true(check, "GradScaler: the master has moved on", master < 1 && master > 0);
            hc_claim_value(check, "GradScaler: skipped steps", 1, (double)c.skipped);
        }
        hc_fixture_close(&fixture);
    }
}

static const struct hc_case cases[] = {
    {.name = "underflow/static-scale-poisons-masters",
     .title = "static scale 512: one gradient of 128 makes the master NaN for ever; GradScaler "
              "skips it",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
               "loss_scale:float=512., never checked for overflow",
     .run = poisons},
};

HC_CASES(underflow_static_scale, cases);
