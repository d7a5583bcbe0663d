/* The factor 1 - lr * wd in half, and where it is applied. */
#include "cases/fixture/adam.h"
#include "cases/fixture/update_fixture.h"
#include "cases/fixture/running_tally.h"
#include "cases/fixture/scalar.h"

#include <math.h>

enum { STEPS = 10000 };

/* 1 - 1e-3 * 1e-2 as a real number, rounded once. */
static double factor(enum hc_format format)
{
    return hc_decimal(format, "0.99999");
}

/* The weight is multiplied 10^4 times. In fp32 the factor is off by at most 2^-25 and each product
   by 2^-25 of a number below 1. */
static void is_one_in_half(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32};
    struct hc_real *x = hc_real_new(0);
    hc_real_set_text(x, "0.99999");
    hc_real_pow(x, x, STEPS);
    double real = hc_real_double(x);
    hc_real_free(x);
    double w[3];
    struct hc_comparisons tally = {0};
    for (int f = 0; f < 3; f++) {
        struct hc_scalar got = {.check = check, .format = formats[f]};
        struct hc_scalar definition = {.format = formats[f]};
        double want = 1;
        double keep = factor(formats[f]);
        w[f] = 1;
        for (int step = 1; step <= STEPS; step++) {
            want = hc_scalar_mul(&definition, want, keep);
            w[f] = hc_scalar_mul(&got, w[f], keep);
            hc_running_tally_note(&tally, step, want, w[f]);
            if (step % 2500 == 0)
                hc_say(check, "%s step %5d: 1 - lr wd = %.9g, w = %.7g",
                       hc_formats[formats[f]].name, step, keep, w[f]);
        }
        if (got.failed)
            return;
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "half: w after 10^4 steps", 1, w[0]);
    hc_claim_value(check, "bf16: w after 10^4 steps", 1, w[1]);
    hc_claim_within(check, "the real value, as claimed", 0.9048, real, 0.5e-4);
    hc_claim_within(check, "fp32: w after 10^4 steps", real, w[2], STEPS * ldexp(1, -24));
}

/* A hundred steps of zero gradients at lr 0.1, decay 0.1. Buggy arm: the model's copy decays, and
   is overwritten from the masters. Fixed arm: the masters decay by 0.99 each step; the factor and
   each product are off by at most 2^-25. */
static void on_the_copy(struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    double real = hc_decayed(0.1, 0.1, 100);
    recipe.weight_decay = 0.1;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct hc_fixture fixture;
        recipe.decay = fixed ? HC_DECAY_DECOUPLED : HC_DECAY_MODEL;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
        for (int step = 1; step <= 100; step++) {
            hc_fixture_gradients(&fixture, 0);
            hc_fixture_step(&fixture, 0.1, 0.9);
            if (hc_running_tally_row(step))
                hc_say(check, "decay on the %s, step %3d: master %.8g, model %.8g",
                       fixed ? "masters" : "copy   ", step,
                       hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0));
        }
        double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        double model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
        if (!hc_fixture_close(&fixture))
            return;
        if (fixed)
            hc_claim_within(check, "decay on the masters", real, master, 100 * ldexp(1, -24));
        else
            hc_claim_value(check, "decay on the model's copy: model", 1, model);
    }
}

static const struct hc_case cases[] = {
    {.name = "decay/factor-is-one-in-half",
     .title = "1 - 1e-2 * 1e-3 is 1 in half and bf16: 10^4 steps leave 1.0 instead of 0.9048 (fp32 "
              "makes it 0.9047)",
     .source =
         "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': p.data.mul_(1 - "
         "wd*lr); OneTrainer issue 996, 'No weight decay with Adam, bf16 and stochastic rounding'",
     .run = is_one_in_half},
    {.name = "decay/on-the-model-copy-vanishes",
     .title = "decay on the model's copy is overwritten from the masters",
     .source = "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': 'any updates "
               "you make outside of this will be overwritten at on_step_end'",
     .run = on_the_copy},
};

HC_CASES(decay_factor, cases);
