/* An overflow that the loss scaler does not get to see.

   A gradient that holds an infinity or NaN is how a scaler learns that its scale is too large. Code
   that cleans gradients before the scaler looks (nan_to_num, or zeros in the place of what is not
   finite) takes this away: the scale never falls, and after each interval it even doubles, so that
   more and more gradients overflow and are replaced. And the step is taken. A gradient of zero is
   not "no step" for an optimizer with state: momentum decays and still moves the weight, the second
   moment decays, Adam's t goes on, and weight decay applies. A skipped step must change nothing but
   the scale and its counts.

   The rule of thumb: look first, then skip the whole step; clean nothing that the scaler has not
   seen. Both arms run the trainer's own update under the recipe `amp`, with torch's GradScaler. */
#include "cases/fixture/bug.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>

enum { INTERVAL = 4 };

static const double lr = 1e-3;
static const double g = 0x1p-10; /* of every clean step: times any power of two it is exact */

struct state {
    struct hc_counters counters;
    double w;
    double m;
    double v;
};

/* Takes clean steps except for the numbers from `bad` to `last`, whose gradient is infinite at any
   scale; cleaned gradients are 0 instead. Draws the scale if there is a picture. */
static bool train(struct hc_check *check, struct hc_picture *picture, bool cleaned, int bad,
                  int last, int steps, struct state *end)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_fixture fixture;
    recipe.scaler.interval = INTERVAL;
    hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
    for (int step = 1; step <= steps; step++) {
        if (step < bad || step > last)
            hc_fixture_gradients(&fixture, g);
        else
            hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, cleaned ? 0 : (double)INFINITY);
        if (picture)
            hc_point(check, picture, cleaned ? "buggy" : "fixed", step,
                     (double)hc_fixture_counters(&fixture).scale);
        hc_fixture_step(&fixture, lr, 0.9);
    }
    *end = (struct state){
        hc_fixture_counters(&fixture), hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
        hc_fixture_get(&fixture, HC_STATE_M, 0, 0), hc_fixture_get(&fixture, HC_STATE_V, 0, 0)};
    return hc_fixture_close(&fixture);
}

/* AdamW's weight after n steps with the same gradient, as a real number: with the bias corrections
   the averages of g and g^2 are g and g^2 themselves. */
static double weight_after(int n)
{
    double w = 1;
    for (int i = 0; i < n; i++)
        w = w * (1 - lr * 1e-2) - lr * g / (g + 1e-8);
    return w;
}

/* In fp32 each step rounds 1 - lr decay, its product with w and the difference: half an ulp of
   numbers up to 1, 2^-25 each. What is left of lr has the bias corrections' error, which is below
   128 u since 1 - 0.99^t >= 0.0099: together less than 2^-23. */
static double weight_error(int n)
{
    return n * 0x1p-23;
}

/* Three batches of eleven overflow. Torch's rule halves three times and doubles after four clean
   steps: 2^16, 2^13, 2^14. The rule that sees nothing doubles at steps 4 and 8: 2^18. */
static void scale_grows(struct hc_check *check, struct hc_exhibits *shown)
{
    struct state buggy;
    struct state fixed;
    static const struct hc_frame frame = {.title = "The loss scale; batches 4 to 6 overflow",
                                          .x = "step",
                                          .y = "loss scale",
                                          .log_y = true};
    struct hc_picture *picture = hc_picture_new(check, &frame);
    if (!train(check, picture, true, 4, 6, 11, &buggy) ||
        !train(check, picture, false, 4, 6, 11, &fixed))
        return;
    hc_exhibits_add(shown, "loss scale", HC_FP32, (double)buggy.counters.scale,
                    (double)fixed.counters.scale, 16384, 0);
    hc_exhibits_add(shown, "steps skipped", HC_FORMAT_COUNT, buggy.counters.skipped,
                    fixed.counters.skipped, 3, 0);
    hc_exhibits_add(shown, "steps taken", HC_FORMAT_COUNT, buggy.counters.taken,
                    fixed.counters.taken, 8, 0);
    hc_exhibits_add(shown, "weight", HC_FP32, buggy.w, fixed.w, weight_after(8), weight_error(8));
}

/* The fourth batch alone overflows. The error of m and v, relative: 1 - fp32(0.9) is 4 u from 0.1,
   and three steps of three roundings each add less than 12 u: 16 u, 2^-20. */
static void state_advances(struct hc_check *check, struct hc_exhibits *shown)
{
    const double beta1 = (double)0.9F;
    const double beta2 = (double)0.99F;
    struct state before;
    struct state buggy;
    struct state fixed;
    if (!train(check, NULL, false, 4, 4, 3, &before) ||
        !train(check, NULL, true, 4, 4, 4, &buggy) || !train(check, NULL, false, 4, 4, 4, &fixed))
        return;
    double m = g * (1 - pow(0.9, 3));
    double v = g * g * (1 - pow(0.99, 3));
    hc_exhibits_add(shown, "t", HC_FORMAT_COUNT, buggy.counters.taken, fixed.counters.taken, 3, 0);
    hc_exhibits_add(shown, "m", HC_FP32, buggy.m, fixed.m, m, m * 0x1p-20);
    hc_exhibits_add(shown, "v", HC_FP32, buggy.v, fixed.v, v, v * 0x1p-20);
    hc_exhibits_add(shown, "weight", HC_FP32, buggy.w, fixed.w, weight_after(3), weight_error(3));
    hc_claim_value(check, "buggy: m decays", (double)(float)(beta1 * before.m), buggy.m);
    hc_claim_value(check, "buggy: v decays", (double)(float)(beta2 * before.v), buggy.v);
    hc_claim_true(check, "buggy: the weight goes on along m", buggy.w < before.w - lr / 2);
    hc_claim_value(check, "fixed: m stays", before.m, fixed.m);
    hc_claim_value(check, "fixed: v stays", before.v, fixed.v);
    hc_claim_value(check, "fixed: the weight stays", before.w, fixed.w);
}

static const struct hc_case cases[] = {
    HC_BUG("field/hidden-overflow/nan-to-num-hides",
           "Gradients go through nan_to_num before the scaler looks: overflows are never noticed, "
           "the loss scale keeps growing, and every step is taken.",
           "facebookresearch/habitat-lab PR 2229, 'Bug Fix: sanitise non-finite gradients in "
           "PPO.before_step (#2226)', https://github.com/facebookresearch/habitat-lab/pull/2229",
           .play = scale_grows, .buggy = {.prints = "262144 exact, 0, 11, -"},
           .fixed = {.prints = "16384 exact, 3, 8, 0.99192"}, .fault = "skip-counts-t",
           .lesson = "Look for infinities before anything cleans the gradients; a scaler that sees "
                     "none doubles its scale.",
           .correction = "The request says that zeros in the place of NaN make the batch a no-op "
                         "update; under Adam the weight goes on along m, decays, and t counts."),
    HC_BUG("field/hidden-overflow/adam-state-advances-on-skip",
           "Bad gradients are replaced by zeros but the optimizer still updates: the step count, "
           "both moments and the weights move on a step that should not have been.",
           "mlnomadpy/flaxchat issue 6, 'Harden train-step numerics: FP32 gradient accumulation "
           "and atomic nonfinite-step skipping', https://github.com/mlnomadpy/flaxchat/issues/6; "
           "marin-community/levanter PR 973",
           .play = state_advances, .buggy = {.prints = "4, -, -, -"},
           .fixed = {.prints = "3, 2.65e-4, 2.83e-8, 0.99697"}, .fault = "skip-moves-momentum",
           .lesson = "A zero gradient is a step: skip the whole update, state and decay included."),
};

HC_CASES(field_plays_hidden_overflow, cases);
