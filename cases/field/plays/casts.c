/* Casts that are kept, and casts that are removed. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/bug.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/training/tiny_training.h"
#include "cases/fixture/training/update_fixture.h"

/* A cast that is kept although its weight has changed.

   A network that computes in 16 bits on fp32 weights casts each weight before it uses it, and a
   framework keeps the result, so that a weight that is used twice is cast once. The key is the
   weight's address. An optimizer changes weights in place: the address stays, and the kept cast is
   of the weight before the step. It must be dropped at the latest when the weights change. Where it
   is not, what reads it sees the first weights for ever: an evaluation gives one loss throughout a
   training; a training loop inside of one outer autocast learns nothing from its steps, though the
   masters move; and a policy compared with its own past differs by nothing.

   Both arms train a small network by the trainer's own update. In the buggy one the half weights of
   the first forward pass are put back before each evaluation, or before each pass. In the column of
   real numbers stands the same training in fp32, which casts nothing and runs on every backend. The
   bound is a margin, an eighth of the first loss, and no error bound. */

enum { STEPS = 30, EVERY = 5, EVALUATIONS = STEPS / EVERY + 1 };

static const double rate = 4e-3;

enum reader { NOBODY, EVALUATION, TRAINING };

struct ends {
    double first; /* loss of the first batch, before and after the training */
    double last;
    double evaluated[EVALUATIONS];
    double moved; /* the largest change of a master */
};

static double moved(struct hc_tiny *tiny, const struct hc_tiny_state *start)
{
    struct hc_tiny_state now = hc_tiny_save(tiny);
    double most = 0;
    for (int i = 0; !tiny->failed && i < hc_net_plan(tiny->net)->parameters; i++) {
        const struct hc_tensor *was = &start->tensor[i * HC_TINY_TENSORS + HC_TINY_MASTER];
        const struct hc_tensor *is = &now.tensor[i * HC_TINY_TENSORS + HC_TINY_MASTER];
        for (int64_t e = 0; e < hc_tensor_count(was); e++)
            most = fmax(most, fabs(hc_tensor_get(is, e) - hc_tensor_get(was, e)));
    }
    return most;
}

/* The loss over other batches, by kept casts or by the present ones. */
static double evaluate(struct hc_tiny *tiny, const struct hc_tiny_state *kept, bool stale)
{
    struct hc_tiny_state now = hc_tiny_save(tiny);
    if (stale)
        hc_tiny_load_model(tiny, kept, true);
    double loss = hc_tiny_validate(tiny);
    hc_tiny_load(tiny, &now);
    return loss;
}

/* Under `amp` with norms in half, too: every weight is in half and has a master. */
static bool train(struct hc_check *check, const char *name, enum reader reads_kept,
                  struct ends *ends, struct hc_picture *picture, const char *series)
{
    struct hc_tiny tiny;
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    if (recipe.model == HC_FP16)
        recipe.norm = HC_FP16;
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, &recipe);
    struct hc_tiny_state kept = hc_tiny_save(&tiny);
    for (int step = 0; step <= STEPS && !tiny.failed; step++) {
        if (step % EVERY == 0) {
            double loss = evaluate(&tiny, &kept, reads_kept != NOBODY);
            ends->evaluated[step / EVERY] = loss;
            hc_point(check, picture, series, step, loss);
        }
        if (reads_kept == TRAINING)
            hc_tiny_load_model(&tiny, &kept, false);
        double loss = hc_tiny_step(&tiny, step % STEPS, rate);
        if (step == 0)
            ends->first = loss;
        ends->last = loss;
    }
    ends->moved = moved(&tiny, &kept);
    return hc_tiny_close(&tiny);
}

static void compare(struct hc_check *check, struct hc_exhibits *shown, enum reader reads_kept)
{
    static const struct hc_frame frame = {
        .title = "The evaluation of a small training", .x = "step", .y = "loss", .log_y = true};
    struct hc_picture *picture = hc_picture_new(check, &frame);
    struct ends buggy = {0};
    struct ends fixed = {0};
    struct ends real = {0};
    if (!train(check, "amp", reads_kept, &buggy, picture, "buggy") ||
        !train(check, "amp", NOBODY, &fixed, picture, "fixed") ||
        !train(check, "fp32", NOBODY, &real, picture, "fp32"))
        return;
    const int last = EVALUATIONS - 1;
    double margin = real.first / 8;
    hc_exhibits_add(shown, "evaluation at first", HC_FP32, buggy.evaluated[0], fixed.evaluated[0],
                    real.evaluated[0], margin);
    hc_exhibits_add(shown, "evaluation in the end", HC_FP32, buggy.evaluated[last],
                    fixed.evaluated[last], real.evaluated[last], margin);
    hc_exhibits_add(shown, "a batch's loss at first", HC_FP32, buggy.first, fixed.first, real.first,
                    margin);
    hc_exhibits_add(shown, "its loss in the end", HC_FP32, buggy.last, fixed.last, real.last,
                    margin);
    hc_exhibits_add(shown, "largest way of a master", HC_FP32, buggy.moved, fixed.moved, real.moved,
                    real.moved / 4);
    hc_claim_true(check, "buggy arm: masters move", buggy.moved > 10 * rate);
    for (int i = 1; i < EVALUATIONS; i++)
        hc_claim_value(check, "buggy arm: every evaluation", buggy.evaluated[0],
                       buggy.evaluated[i]);
    hc_claim_value(check, "buggy arm: its loss in the end",
                   reads_kept == EVALUATION ? fixed.last : buggy.first, buggy.last);
}

static void by_evaluation(struct hc_check *check, struct hc_exhibits *shown)
{
    compare(check, shown, EVALUATION);
}

static void by_training(struct hc_check *check, struct hc_exhibits *shown)
{
    compare(check, shown, TRAINING);
}

/* Digits that should not be there.

   A compiler may keep an intermediate result in fp32 where the program says bf16, and may remove a
   cast to 16 bits and back. Each single number gets more exact. But a program can depend on the
   rounding itself. Emulation of bf16 emulates nothing. The residue of a sum, y - ((x + y) - x), is
   what rounding took from x + y: computed without roundings it is 0, and Kahan's summation
   compensates nothing. And a backward pass that reads a saved, rounded activation belongs to
   another forward pass than the one that went on with the unrounded one.

   The rule of thumb: where a rounding is meant, ask for it by an operation that no compiler may
   remove (lax.reduce_precision in JAX), and test that it happens. The fixed arms run casts, sums
   and the compensated AdamW of the backend under test; in the buggy ones a rounding is left out. */

/* Casts to bf16 and back to fp32. */
static double there_and_back(struct hc_check *check, struct hc_scalar *bf16, double x)
{
    struct hc_scalar single = {.check = check, .format = HC_FP32};
    double back = hc_scalar_cast(&single, HC_BF16, hc_scalar_cast(bf16, HC_FP32, x));
    bf16->failed = bf16->failed || single.failed;
    return back;
}

/* The worst two of numpy's RandomState(0).randn(100), the thread's own numbers, 1 + 2^-9, which
   lies halfway, and a number that bf16 has. */
static void pair_removed(struct hc_check *check, struct hc_exhibits *shown)
{
    static const char *const numbers[] = {"2.2408931", "-2.5529897", "1.001953125", "1.5"};
    struct hc_scalar bf16 = {.check = check, .format = HC_BF16};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        double x = hc_decimal(HC_FP32, numbers[i]);
        double want = hc_round(HC_BF16, x);
        double got = there_and_back(check, &bf16, x);
        char name[48];
        if (bf16.failed)
            return;
        (void)snprintf(name, sizeof name, "%s minus its cast", numbers[i]);
        hc_exhibits_add(shown, name, HC_FP32, 0, x - got, x - want, 0);
    }
}

/* The error of x + y as the thread computes it. */
static double residue(struct hc_scalar *in, double x, double y)
{
    double sum = hc_scalar_add(in, x, y);
    double y2 = hc_scalar_sub(in, sum, x);
    double x2 = hc_scalar_sub(in, sum, y2);
    return hc_scalar_add(in, hc_scalar_sub(in, x, x2), hc_scalar_sub(in, y, y2));
}

/* A thousand updates of 1e-4 by AdamW on a weight in bf16, with the compensation that it keeps or
   with 0 in its place. */
static double weight_after(struct hc_check *check, bool compensated)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = *hc_recipe_by_name("bf16-kahan");
    recipe.weight_decay = 0;
    recipe.state = recipe.gradient = recipe.arithmetic = HC_FP32;
    hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
    for (int step = 0; step < 1000; step++) {
        hc_fixture_gradients(&fixture, -1);
        hc_fixture_step(&fixture, 1e-4, 0.9);
        if (!compensated)
            hc_fixture_set(&fixture, HC_STATE_COMPENSATION, 0, 0, 0);
    }
    double w = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
    return hc_fixture_close(&fixture) ? w : (double)NAN;
}

/* The residue of a sum of two bf16 numbers is a bf16 number, so that it is exact (Dekker). The
   compensated weight is rounded by half an ulp, 2^-8; its compensation, at most as large, by 2^-17
   a step; an update, 1e-4, by less than 2^-27. */
static void residue_is_0(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_scalar bf16 = {.check = check, .format = HC_BF16};
    struct hc_scalar single = {.check = check, .format = HC_FP32};
    for (int i = 0; i < 3; i++) {
        double x = 4 + i;
        double y = hc_scalar_div(&bf16, i, 1000);
        double real = x + y - hc_round(HC_BF16, x + y);
        char name[48];
        (void)snprintf(name, sizeof name, "residue of %g + %.3g", x, y);
        hc_exhibits_add(shown, name, HC_BF16, residue(&single, x, y), residue(&bf16, x, y), real,
                        0);
    }
    if (bf16.failed || single.failed)
        return;
    hc_exhibits_add(shown, "1 after 1000 times 1e-4", HC_BF16, weight_after(check, false),
                    weight_after(check, true), 1.1, 0x1p-8 + 1001 * 0x1p-17);
}

/* A loss of h^2 / 2 has the slope h: of the number that it was computed from. The backward pass
   reads the saved one, bf16(h). Differences of h +- 2^-6 have no error but that of two squares near
   1, u each, which the division by 4 * 2^-6 makes 32 u: less than 2^-16. */
static void saved_and_used(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_scalar single = {.check = check, .format = HC_FP32};
    struct hc_scalar bf16 = {.check = check, .format = HC_BF16};
    double h = hc_scalar_mul(&single, hc_decimal(HC_FP32, "0.7"), hc_decimal(HC_FP32, "1.437"));
    double saved = there_and_back(check, &bf16, h);
    double used[2] = {h, saved};
    double slope[2];
    for (int fixed = 0; fixed < 2; fixed++) {
        double above = hc_scalar_add(&single, used[fixed], 0x1p-6);
        double below = hc_scalar_sub(&single, used[fixed], 0x1p-6);
        double rise = hc_scalar_sub(&single, hc_scalar_mul(&single, above, above),
                                    hc_scalar_mul(&single, below, below));
        slope[fixed] = rise / 4 * 0x1p6;
    }
    if (single.failed || bf16.failed)
        return;
    hc_exhibits_add(shown, "slope by differences", HC_FP32, slope[0], slope[1],
                    hc_round(HC_BF16, h), 0x1p-16);
    hc_exhibits_add(shown, "gradient", HC_BF16, saved, saved, hc_round(HC_BF16, h), 0);
    hc_exhibits_add(shown, "relative difference", HC_FP32, saved / slope[0] - 1,
                    saved / slope[1] - 1, 0, 0x1p-16);
}

static const struct hc_case cases[] = {
    HC_BUG(
        "field/cast-cache/weights-cast-cache-eval",
        "The training loss falls, and the evaluation gives the same loss and accuracy each time.",
        "tinygrad/tinygrad PR 4144, 'Resnet fp16 training with fp32 master weight copy', "
        "https://github.com/tinygrad/tinygrad/pull/4144",
        .play = by_evaluation, .fault = "model-copy-kept",
        .lesson = "Drop kept casts of weights after each step: an evaluation that does not change "
                  "by a bit between two steps reads old weights."),
    HC_BUG("field/cast-cache/autocast-cache-stale-update",
           "Under one outer autocast around the training loop the loss is flat and the KL "
           "divergence from the reference stays about 0.",
           "X-GenGroup/Flow-Factory PR 186, '[trainer,docs] fix: per-forward autocast to avoid "
           "stale weight cache (zero KL / frozen fp32 training)', "
           "https://github.com/X-GenGroup/Flow-Factory/pull/186; NVIDIA/apex PR 132",
           .play = by_training, .fault = "model-copy-kept",
           .lesson = "Enter autocast anew for each forward pass; its cache of casts lives as long "
                     "as the block and does not see changes in place."),
    HC_BUG("field/excess-precision/compiler-elides-narrowing-cast",
           "x.astype(bfloat16).astype(float32) does nothing under jit: fake quantization has no "
           "effect.",
           "openxla/xla issue 41605, 'XLA GPU incorrectly elides intermediate narrowing casts "
           "(bf16/fp16)', https://github.com/openxla/xla/issues/41605; jax-ml/jax issue 6283; "
           "openxla/xla PR 10687; pytorch/pytorch issues 176565 and 183761",
           .play = pair_removed, .buggy = {.is = "0, 0, 0, 0"}, .fixed = {.is = "6.5e-3, -, -, 0"},
           .fault = "cast-pair-removed",
           .lesson = "Round with an operation that the compiler must keep, lax.reduce_precision "
                     "say, and test that a number changes."),
    HC_BUG("field/excess-precision/two-sum-residue-elided",
           "The error of a bf16 sum, by an error-free transformation, is 0 under jit: Kahan's "
           "summation compensates nothing.",
           "jax-ml/jax issue 23007, 'Finite precision error calculations always 0 under JIT with "
           "bfloat16', https://github.com/jax-ml/jax/issues/23007; jax-ml/ml_dtypes issue 167",
           .play = residue_is_0, .buggy = {.is = "0, 0, 0, 1 exact"},
           .fixed = {.is = "0, 0.000999451, 0.0019989, 1.10"}, .fault = "compensation-not-carried",
           .lesson =
               "A residue is made of roundings: each of its four operations must round to bf16."),
    HC_BUG("field/excess-precision/remat-excess-precision",
           "With rematerialisation the gradient belongs to another forward pass than the loss.",
           "jax-ml/jax PR 22244, 'make remat reduce precision of saved values to avoid xla excess "
           "precision', https://github.com/jax-ml/jax/pull/22244; jax-ml/jax issue 8702",
           .play = saved_and_used, .buggy = {.is = "-, -, 2e-3"}, .fixed = {.is = "-, -, 0"},
           .fault = "cast-pair-removed",
           .lesson = "What is saved for the backward pass and what the forward pass goes on with "
                     "must be the same rounded number."),
};

HC_CASES(field_plays_casts, cases);
