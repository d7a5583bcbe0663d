/* A skipped step that takes more with it than the update.

   Local SGD lets every rank train by itself and averages the parameters every few steps. Where the
   averaging is part of optimizer.step(), a gradient scaler that finds an infinity on one rank skips
   it together with the update: the ranks stay apart until the next round, and those that wait for
   the missing rank get nothing at all. What belongs to all ranks, or to the calendar (averaging,
   moving averages of weights, schedules), must not hang on whether one rank's gradients are finite.

   The rule of thumb: skip the update, and only the update. Both arms run two updates of the trainer
   under torch's rule as two ranks, with an SGD whose numbers are exact in fp32; ranks that are
   threads average. Nothing of this needs 16 bits but the overflow. */
#include "cases/fixture/bug.h"
#include "cases/fixture/ranks.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>

enum { RANKS = 2, STEPS = 6, ROUND = 4, OVERFLOW = 4 };

static const double lr = 0.125;
static const double g[RANKS] = {0x1p-4, 0x1p-6};

struct rank {
    double w;
    struct hc_counters counters;
};

static void average(struct hc_check *check, struct hc_fixture fixture[RANKS])
{
    static const struct hc_all_reduce how = {HC_COLLECTIVE_TREE, HC_FP32, 1, RANKS, false};
    double w[RANKS];
    for (int r = 0; r < RANKS; r++)
        w[r] = hc_fixture_get(&fixture[r], HC_STATE_MASTER, 1, 0);
    double mean = hc_ranks_average1(check, "weights", &how, HC_FP32, RANKS, w);
    for (int r = 0; r < RANKS; r++)
        hc_fixture_set(&fixture[r], HC_STATE_MASTER, 1, 0, mean);
}

/* Rank 0 overflows at the step that ends a round of averaging, in a parameter beside the one that
   is looked at. */
static bool train(struct hc_check *check, bool inside, struct rank rank[RANKS])
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_fixture fixture[RANKS];
    bool done = true;
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    for (int r = 0; r < RANKS; r++) {
        hc_fixture_open(&fixture[r], check);
        hc_fixture_add(&fixture[r], "overflows", HC_ROLE_WEIGHT, 1, 1);
        hc_fixture_add(&fixture[r], "w", HC_ROLE_BIAS, 1, 1);
        hc_fixture_start(&fixture[r], &recipe);
    }
    for (int step = 1; step <= STEPS; step++) {
        bool skipped = false;
        for (int r = 0; r < RANKS; r++) {
            int32_t before = hc_fixture_counters(&fixture[r]).skipped;
            hc_fixture_gradients(&fixture[r], g[r]);
            if (r == 0 && step == OVERFLOW)
                hc_fixture_set(&fixture[r], HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
            hc_fixture_step(&fixture[r], lr, 0);
            skipped |= hc_fixture_counters(&fixture[r]).skipped > before;
        }
        if (step % ROUND == 0 && !(inside && skipped))
            average(check, fixture);
    }
    for (int r = 0; r < RANKS; r++) {
        rank[r] = (struct rank){hc_fixture_get(&fixture[r], HC_STATE_MASTER, 1, 0),
                                hc_fixture_counters(&fixture[r])};
        done = hc_fixture_close(&fixture[r]) && done;
    }
    return done;
}

/* Steps taken are 3 and 4 of the first round and two of the next, from the mean or from where each
   rank is. All numbers are multiples of 2^-9. */
static void skips(struct hc_check *check, struct hc_exhibits *shown)
{
    struct rank buggy[RANKS];
    struct rank fixed[RANKS];
    if (!train(check, true, buggy) || !train(check, false, fixed))
        return;
    double mean = 1 - lr * (3 * g[0] + 4 * g[1]) / RANKS;
    double after = STEPS - ROUND;
    hc_exhibits_add(shown, "weight on rank 0", HC_FP32, buggy[0].w, fixed[0].w,
                    mean - after * lr * g[0], 0);
    hc_exhibits_add(shown, "weight on rank 1", HC_FP32, buggy[1].w, fixed[1].w,
                    mean - after * lr * g[1], 0);
    hc_exhibits_add(shown, "between the ranks", HC_FP32, fabs(buggy[0].w - buggy[1].w),
                    fabs(fixed[0].w - fixed[1].w), after * lr * (g[0] - g[1]), 0);
    hc_claim_value(check, "buggy: weight on rank 0", 1 - lr * 5 * g[0], buggy[0].w);
    hc_claim_value(check, "buggy: weight on rank 1", 1 - lr * 6 * g[1], buggy[1].w);
    hc_claim_value(check, "fixed: steps skipped on rank 0", 1, fixed[0].counters.skipped);
    hc_claim_value(check, "fixed: steps skipped on rank 1", 0, fixed[1].counters.skipped);
}

static const struct hc_case cases[] = {
    HC_BUG("field/parameter-averaging/rank-skip-averaging",
           "With a GradScaler and post-local SGD the replicas drift apart: a rank whose gradients "
           "overflow skips the averaging of parameters, too.",
           "pytorch/pytorch issue 76282, '`torch.cuda.amp.GradScaler` may skip parameter "
           "synchronization required by post localSGD optimizer', "
           "https://github.com/pytorch/pytorch/issues/76282",
           .play = skips, .fault = "sgd-ignores-found",
           .lesson = "Skip the update and only the update: what all ranks do together must not "
                     "hang on one rank's gradients."),
};

HC_CASES(field_plays_parameter_averaging, cases);
