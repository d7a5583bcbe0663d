/* What counts or marks the steps of a training. */
#include <math.h>

#include "cases/fixture/bug.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/training/tiny_training.h"
#include "cases/fixture/training/update_fixture.h"

/* A count of steps that stands still.

   Adam divides by 1 - beta^t, t being the number of the step. A count that is a tensor takes the
   default format, and in bf16, with 8 bits, 256 + 1 is 256; in half 2048 + 1 is 2048. From there on
   t is constant, and 1 - 0.999^256 = 0.226 stays in the place of a number that goes to 1, under a
   root: steps become too small, by up to 1 / sqrt(0.226) = 2.10, for the rest of the run.

   The rule of thumb: count in integers, or in fp32, which counts to 2^24. Both arms run the
   trainer's own AdamW; the buggy one is told before each step the count that the op add gives in
   bf16. */

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

/* A flag that is set once where it should be set each time.

   With gradient accumulation a batch goes through the network in microbatches, whose gradients are
   added in fp32, in a buffer called main_grad. A fused kernel adds to it by itself, and says so in
   a flag, so that nobody adds a second time. Code that cannot fuse asked the same flag whether to
   add at all, and set it: the flag is cleared before the first microbatch, and so the first
   gradient alone was added. A step then follows the gradient of one microbatch, divided by the
   number of all: the loss falls, but slower, and no number looks wrong.

   Both arms add with the op axpy and step with the trainer's own update, under SGD: Adam would
   divide the missing factor away. One weight with known gradients shows the numbers of the report,
   and a small network how a training looks; what is real there adds in fp64. The bound of its loss
   is a margin that a training has by far, and no error bound. */

enum adder { FIRST_ALONE, EVERY_ONE, DEFINITION };

/* main_grad += gradient / microbatches. Returns whether main_grad changed. */
static bool add_gradient(struct hc_check *check, enum adder how, bool *added_to_main_grad,
                         const struct hc_tensor *gradient, const struct hc_tensor *main_grad,
                         int microbatches)
{
    struct hc_call call = {.op = HC_OP_axpy,
                           .in = {[HC_X] = *gradient, [HC_Y] = *main_grad},
                           .out = {[HC_OUT] = *main_grad},
                           .params.axpy.alpha = 1.0 / microbatches};
    double before = hc_tensor_get(main_grad, 0);
    if (how == FIRST_ALONE && *added_to_main_grad)
        return false;
    *added_to_main_grad = true;
    if (how != DEFINITION)
        return hc_do(check, &call) == HC_OK && hc_tensor_get(main_grad, 0) != before;
    for (int64_t i = 0; i < hc_tensor_count(main_grad); i++)
        hc_tensor_set(main_grad, i,
                      hc_tensor_get(main_grad, i) + hc_tensor_get(gradient, i) / microbatches);
    return true;
}

static struct hc_recipe plain(void)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    return recipe;
}

enum { MICROBATCHES = 32 };

static const double flag_lr = 0.125;

/* The gradient of microbatch i is a multiple of 2^-10, so that every sum is exact. */
static double gradient_of(int i)
{
    return -(1 + (i % 8) * 0x1p-10);
}

static bool one_weight(struct hc_check *check, enum adder how, double *added, double *weight)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = plain();
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, 1);
    struct hc_tensor main_grad = hc_check_vector(check, HC_FP32, 1);
    bool flag = false;
    hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
    for (int i = 0; i < MICROBATCHES; i++) {
        hc_tensor_set(&gradient, 0, gradient_of(i));
        *added += add_gradient(check, how, &flag, &gradient, &main_grad, MICROBATCHES);
    }
    hc_fixture_gradients(&fixture, hc_tensor_get(&main_grad, 0));
    hc_fixture_step(&fixture, flag_lr, 0);
    *weight = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    return hc_fixture_close(&fixture);
}

enum { FLAG_STEPS = 15, MICRO = 4 };

/* How many gradients there are; with `all`, copies them there one behind the other, or back. */
static int64_t gradients(struct hc_tiny *tiny, const struct hc_tensor *all, bool back)
{
    int64_t at = 0;
    for (int i = 0; !tiny->failed && i < hc_update_parameters(tiny->update); i++) {
        struct hc_tensor shape = hc_update_tensor(tiny->update, HC_STATE_GRADIENT, i);
        float *here = all ? (float *)all->data + at : NULL;
        at += hc_tensor_count(&shape);
        if (all && !hc_check_ok(tiny->check,
                                back ? hc_update_write(tiny->update, HC_STATE_GRADIENT, i, here)
                                     : hc_update_read(tiny->update, HC_STATE_GRADIENT, i, here)))
            tiny->failed = true;
    }
    return at;
}

/* Each step on a batch of MICRO microbatches. The loss is one over other batches. */
static bool network(struct hc_check *check, enum adder how, struct hc_picture *picture,
                    const char *series, double *loss)
{
    struct hc_tiny tiny;
    struct hc_recipe recipe = plain();
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, &recipe);
    int64_t n = gradients(&tiny, NULL, false);
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, n);
    for (int step = 0; step < FLAG_STEPS && !tiny.failed; step++) {
        struct hc_tensor main_grad =
            hc_check_vector(check, how == DEFINITION ? HC_FP64 : HC_FP32, n);
        bool flag = false;
        for (int micro = 0; micro < MICRO; micro++) {
            (void)hc_tiny_pass(&tiny, MICRO * step + micro);
            (void)gradients(&tiny, &gradient, false);
            (void)add_gradient(check, how, &flag, &gradient, &main_grad, MICRO);
        }
        for (int64_t i = 0; i < n; i++)
            hc_tensor_set(&gradient, i, hc_tensor_get(&main_grad, i));
        (void)gradients(&tiny, &gradient, true);
        hc_tiny_update(&tiny, 0.04);
        *loss = hc_tiny_validate(&tiny);
        hc_point(check, picture, series, step + 1, *loss);
    }
    return hc_tiny_close(&tiny);
}

static void first_alone(struct hc_check *check, struct hc_exhibits *shown)
{
    static const char *const series[] = {"buggy", "fixed", "added in fp64"};
    static const struct hc_frame frame = {.title = "A small training in microbatches of four",
                                          .x = "step",
                                          .y = "loss over other batches",
                                          .log_y = true};
    struct hc_picture *picture = hc_picture_new(check, &frame);
    double added[3] = {0};
    double weight[3] = {0};
    double loss[3] = {0};
    double mean = 0;
    for (int how = FIRST_ALONE; how <= DEFINITION; how++)
        if (!one_weight(check, (enum adder)how, &added[how], &weight[how]) ||
            !network(check, (enum adder)how, picture, series[how], &loss[how]))
            return;
    for (int i = 0; i < MICROBATCHES; i++)
        mean += gradient_of(i) / MICROBATCHES;
    hc_exhibits_add(shown, "gradients added", HC_FORMAT_COUNT, added[0], added[1], MICROBATCHES, 0);
    hc_exhibits_add(shown, "step of a weight", HC_FP32, weight[0] - 1, weight[1] - 1,
                    -flag_lr * mean, 0);
    hc_exhibits_add(shown, "loss of a network", HC_FP32, loss[0], loss[1], loss[2], loss[2] / 2);
    hc_claim_true(check, "buggy arm: the loss falls, but slower",
                  loss[0] > 2 * loss[1] && loss[0] < 0.65);
}

static const struct hc_case cases[] = {
    HC_BUG("field/step-counter/step-counter-bf16-256",
           "Under a bf16 default dtype Adam's step count stops at 256, and updates are too small "
           "for ever after.",
           "pytorch/ao PR 4915, 'Fix the Adam step counter saturating under a BF16 default dtype', "
           "https://github.com/pytorch/ao/pull/4915; deepspeedai/DeepSpeed PR 8496, 'Keep ZenFlow "
           "Adam step counters in float32' (2048 in fp16), and PR 4588; vllm-project/speculators "
           "PR 411",
           .play = stands, .buggy = {.prints = "256 exact, -, -", .is = "-, 1.67, -"},
           .fixed = {.is = "1000 exact, 1.00, -"}, .fault = "t-stands-at-256",
           .correction = "The thread's 'permanently 2.1 times too large' is the limit: after 1000 "
                         "steps the denominator is 1.67 times too large.",
           .lesson = "Count steps in integers or in fp32, whatever the default format is."),
    HC_BUG("field/gradient-flag/main-grad-first-microbatch-only",
           "With gradient accumulation the loss falls, but slower than it should: one gradient of "
           "32 reaches the optimizer.",
           "AMD-AGI/Primus PR 1046, 'fix(turbo): accumulate the weight gradient on every "
           "microbatch, not just the first', https://github.com/AMD-AGI/Primus/pull/1046",
           .play = first_alone, .buggy = {.prints = "1 exact, -, -"},
           .fixed = {.prints = "32 exact, -, -"}, .fault = "gradients-overwritten",
           .lesson = "Compare the gradient of a batch in microbatches with that of the same batch "
                     "in one piece, once, before a long run."),
};

HC_CASES(field_plays_steps, cases);
