/* A count of steps that stands still.

   Adam divides by 1 - beta^t, t being the number of the step. A count that is a tensor takes the
   default format, and in bf16, with 8 bits, 256 + 1 is 256; in half 2048 + 1 is 2048. From there on
   t is constant, and 1 - 0.999^256 = 0.226 stays in the place of a number that goes to 1, under a
   root: steps become too small, by up to 1 / sqrt(0.226) = 2.10, for the rest of the run.

   The rule of thumb: count in integers, or in fp32, which counts to 2^24. Both arms run the
   trainer's own AdamW; the buggy one is told before each step the count that the op add gives in
   bf16. */
#include "cases/fixture/bug.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>

enum { STEPS = 1000 };

static const double lr = 1e-3;
static const double g = 0.125;

struct end {
    double t;
    double step; /* the last one, in units of lr */
    double weight;
};

static void say_count(struct hc_fixture *fixture, double t)
{
    struct hc_counters counters = hc_fixture_counters(fixture);
    counters.taken = (int32_t)t - 1;
    if (!fixture->failed)
        fixture->failed =
            !hc_check_ok(fixture->check, hc_update_set_counters(fixture->update, &counters));
}

static bool train(struct hc_check *check, bool in_bf16, struct end *end, struct hc_picture *picture)
{
    struct hc_fixture fixture;
    struct hc_scalar bf16 = {.check = check, .format = HC_BF16};
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    recipe.beta2 = 0.999;
    recipe.weight_decay = 0;
    hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
    *end = (struct end){.weight = 1};
    for (int step = 0; step < STEPS && !fixture.failed; step++) {
        hc_fixture_gradients(&fixture, g);
        if (in_bf16)
            say_count(&fixture, end->t = hc_scalar_add(&bf16, end->t, 1));
        hc_fixture_step(&fixture, lr, 0.9);
        double before = end->weight;
        end->weight = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        end->step = (before - end->weight) / lr;
        if (!fixture.failed)
            hc_point(check, picture, in_bf16 ? "t in bf16" : "t in integers", step + 1, end->step);
    }
    if (!in_bf16)
        end->t = hc_fixture_counters(&fixture).taken;
    return hc_fixture_close(&fixture) && !bf16.failed;
}

/* While the gradient stays the same a step is lr, but for eps, 8e-8 of it, and roundings. Each step
   rounds v twice, of which 0.999 is carried over to the next: in all 632 times 2 u. fp32(0.999)
   instead of 0.999 changes what v goes to by 1000 u. The root halves both; all else is below 100 u:
   less than 2048 u of lr. The weight, below 1, is rounded by u / 2 a step. */
static void stands(struct hc_check *check, struct hc_exhibits *shown)
{
    static const struct hc_frame frame = {.title = "Adam's step for a constant gradient",
                                          .x = "step",
                                          .y = "step / learning rate",
                                          .marks = {{256, "t stands still"}}};
    struct hc_picture *picture = hc_picture_new(check, &frame);
    const double u = 0x1p-24;
    struct end buggy;
    struct end fixed;
    if (!train(check, true, &buggy, picture) || !train(check, false, &fixed, picture))
        return;
    double m = (1 - pow(0.9, STEPS)) / (1 - pow(0.9, 256));
    double v = (1 - pow(0.999, STEPS)) / (1 - pow(0.999, 256));
    hc_exhibits_add(shown, "t after 1000 steps", HC_FORMAT_COUNT, buggy.t, fixed.t, STEPS, 0);
    hc_exhibits_add(shown, "denominator, times", HC_FP32, 1 / buggy.step, 1 / fixed.step, 1,
                    2048 * u + u / lr);
    hc_exhibits_add(shown, "way of the weight", HC_FP32, 1 - buggy.weight, 1 - fixed.weight,
                    STEPS * lr, STEPS * (2048 * u * lr + u / 2));
    hc_claim_within(check, "buggy arm: step 1000", m / sqrt(v), buggy.step, 2048 * u + u / lr);
}

static const struct hc_case cases[] = {
    HC_BUG("field/step-counter/step-counter-bf16-256",
           "Under a bf16 default dtype Adam's step count stops at 256, and updates are too small "
           "for ever after.",
           "pytorch/ao PR 4915, 'Fix the Adam step counter saturating under a BF16 default "
           "dtype', https://github.com/pytorch/ao/pull/4915; deepspeedai/DeepSpeed PR 8496, 'Keep "
           "ZenFlow Adam step counters in float32' (2048 in fp16), and PR 4588; "
           "vllm-project/speculators PR 411",
           .play = stands, .buggy = {.prints = "256 exact, 1.67, -"},
           .fixed = {.prints = "1000 exact, 1.00, -"}, .fault = "t-stands-at-256",
           .correction = "The thread's 'permanently 2.1 times too large' is the limit: after 1000 "
                         "steps the denominator is 1.67 times too large.",
           .lesson = "Count steps in integers or in fp32, whatever the default format is."),
};

HC_CASES(field_plays_step_counter, cases);
