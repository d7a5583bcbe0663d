/* A loss scale that sinks below 1.

   A scaler halves its scale because a gradient overflowed, and assumes that a smaller scale cures
   it. That holds as long as the overflow comes from the scale. If it comes from elsewhere (an
   activation beyond 65504, a division by zero, a NaN in the data) every step overflows at any
   scale, and the scale falls without end. Below 1 it does the opposite of its job: half's smallest
   number is 2^-24, so at a scale of 2^-13 every gradient up to 2^-12 becomes 0, and as soon as a
   batch without the overflow comes by the optimizer steps on zeros. Once nothing overflows any
   more because everything is 0, the scaler even calls it a success.

   The rule of thumb: a scale at 1 that still overflows is a divergence. Stop, and look for the
   number that is infinite before it was scaled. Both arms run the trainer's update, with torch's
   rule, which has no floor, and with DeepSpeed's, which ends the run at 1. */
#include "cases/fixture/bug.h"
#include "cases/fixture/scaling.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>

enum { OVERFLOWS = 20, GRADIENTS = 64 };

/* What fairseq begins with: --fp16-init-scale. */
static const float initial = 128;

/* The state after so many overflows that no scale can cure. */
static bool sink(struct hc_check *check, enum hc_scaler_rule rule, struct hc_counters *end)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_fixture fixture;
    recipe.scaler = (struct hc_scaler){.rule = rule, .initial = initial};
    hc_fixture_open_weights(&fixture, check, &recipe, 2, 1);
    for (int step = 0; step < OVERFLOWS; step++) {
        hc_fixture_gradients(&fixture, 1e-6);
        hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
        hc_fixture_step(&fixture, 1e-3, 0.9);
    }
    *end = hc_fixture_counters(&fixture);
    return hc_fixture_close(&fixture);
}

/* How many gradients from 1e-6 to 2e-4 half holds as 0 at that scale, on the backend. */
static bool lost(struct hc_check *check, double scale, int *zeros)
{
    struct hc_tensor g = hc_check_vector(check, HC_FP32, GRADIENTS);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, GRADIENTS);
    struct hc_comparisons tally = {.what = "gradient in half"};
    for (int i = 0; i < GRADIENTS; i++)
        hc_tensor_set(&g, i, 1e-6 * pow(200, (double)i / (GRADIENTS - 1)));
    if (hc_scale_into(check, &g, scale, &half) != HC_OK)
        return false;
    *zeros = (int)hc_stored_count(&g, scale, &half, &tally).zero;
    hc_claim_comparisons(check, &tally);
    return true;
}

/* 2^7 is 2^-13 after 20 halvings, and the next is below fairseq's limit of 1e-4. DeepSpeed lets the
   first overflow pass, halves at the next seven, and gives up at the ninth. */
static void sinks(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_counters buggy;
    struct hc_counters fixed;
    int zeros[2];
    if (!sink(check, HC_SCALER_TORCH, &buggy) || !sink(check, HC_SCALER_DEEPSPEED_0170, &fixed) ||
        !lost(check, (double)buggy.scale, &zeros[0]) ||
        !lost(check, (double)fixed.scale, &zeros[1]))
        return;
    hc_exhibits_add(shown, "loss scale", HC_FP32, (double)buggy.scale, (double)fixed.scale, 1, 0);
    hc_exhibits_add(shown, "the run was ended", HC_FORMAT_COUNT, buggy.gave_up, fixed.gave_up, 1,
                    0);
    hc_exhibits_add(shown, "zeros of 64 gradients", HC_FORMAT_COUNT, zeros[0], zeros[1], 0, 0);
    hc_claim_value(check, "buggy: the scale", 0x1p-13, (double)buggy.scale);
}

static const struct hc_case cases[] = {
    HC_BUG("field/scale-floor/min-loss-scale-reached",
           "FloatingPointError: Minimum loss scale reached (0.0001), after a log of loss_scale "
           "0.000: every step overflows until the scale is gone.",
           "facebookresearch/fairseq issue 1529, 'FloatingPointError: Minimum loss scale reached "
           "(0.0001).', https://github.com/facebookresearch/fairseq/issues/1529; its issues 515, "
           "512, 282, 1215, 1895, 2384, 4555; ymcui/Chinese-LLaMA-Alpaca issue 534",
           .play = sinks, .buggy = {.prints = "0.000122, 0, 64"}, .fixed = {.prints = "1, 1, 0"},
           .fault = "scaler-floor-ignored",
           .lesson = "A scale of 1 that still overflows is a divergence: stop and find the number "
                     "that was infinite before it was scaled."),
};

HC_CASES(field_plays_scale_floor, cases);
