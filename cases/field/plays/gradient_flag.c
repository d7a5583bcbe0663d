/* A flag that is set once where it should be set each time.

   With gradient accumulation a batch goes through the network in microbatches, whose gradients are
   added in fp32, in a buffer called main_grad. A fused kernel adds to it by itself, and says so in
   a flag, so that nobody adds a second time. Code that cannot fuse asked the same flag whether to
   add at all, and set it: the flag is cleared before the first microbatch, and so the first
   gradient alone was added. A step then follows the gradient of one microbatch, divided by the
   number of all: the loss falls, but slower, and no number looks wrong.

   Both arms add with the op axpy and step with the trainer's own update, under SGD. Adam would
   divide the missing factor away. */
#include "cases/fixture/bug.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>

enum { MICROBATCHES = 32 };

static const double lr = 0.125;

/* Of microbatch i, a multiple of 2^-10, so that every sum is exact. */
static double gradient(int i)
{
    return -(1 + (i % 8) * 0x1p-10);
}

static bool train(struct hc_check *check, bool gated, double *added, double *weight)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    struct hc_tensor micro = hc_check_vector(check, HC_FP32, 1);
    struct hc_tensor main_grad = hc_check_vector(check, HC_FP32, 1);
    struct hc_call add = {.op = HC_OP_axpy,
                          .in = {[HC_X] = micro, [HC_Y] = main_grad},
                          .out = {[HC_OUT] = main_grad},
                          .params.axpy.alpha = 1.0 / MICROBATCHES};
    bool added_to_main_grad = false;
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
    *added = 0;
    for (int i = 0; i < MICROBATCHES && !fixture.failed; i++) {
        if (gated && added_to_main_grad)
            continue;
        double before = hc_tensor_get(&main_grad, 0);
        hc_tensor_set(&micro, 0, gradient(i));
        fixture.failed = hc_do(check, &add) != HC_OK;
        *added += hc_tensor_get(&main_grad, 0) != before;
        added_to_main_grad = true;
    }
    hc_fixture_gradients(&fixture, hc_tensor_get(&main_grad, 0));
    hc_fixture_step(&fixture, lr, 0);
    *weight = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    return hc_fixture_close(&fixture);
}

static void first_alone(struct hc_check *check, struct hc_exhibits *shown)
{
    double added[2];
    double weight[2];
    double mean = 0;
    for (int fixed = 0; fixed < 2; fixed++)
        if (!train(check, !fixed, &added[fixed], &weight[fixed]))
            return;
    for (int i = 0; i < MICROBATCHES; i++)
        mean += gradient(i) / MICROBATCHES;
    hc_exhibits_add(shown, "gradients in main_grad", HC_FORMAT_COUNT, added[0], added[1],
                    MICROBATCHES, 0);
    hc_exhibits_add(shown, "step of the weight", HC_FP32, weight[0] - 1, weight[1] - 1, -lr * mean,
                    0);
}

static const struct hc_case cases[] = {
    HC_BUG("field/gradient-flag/main-grad-first-microbatch-only",
           "With gradient accumulation the loss falls, but slower than it should: one gradient of "
           "32 reaches the optimizer.",
           "AMD-AGI/Primus PR 1046, 'fix(turbo): accumulate the weight gradient on every "
           "microbatch, not just the first', https://github.com/AMD-AGI/Primus/pull/1046",
           .play = first_alone, .buggy = {.prints = "1 exact, -"},
           .fixed = {.prints = "32 exact, -"}, .fault = "gradients-overwritten",
           .lesson = "Compare the gradient of a batch in microbatches with that of the same batch "
                     "in one piece, once, before a long run."),
};

HC_CASES(field_plays_gradient_flag, cases);
