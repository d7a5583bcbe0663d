/* A loss scale that is not where it is thought to be. */
#include <math.h>

#include "cases/fixture/bug.h"
#include "cases/fixture/scaling.h"
#include "cases/fixture/training/tiny_training.h"
#include "cases/fixture/training/update_fixture.h"

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

enum { INTERVAL = 4 };

static const double lr = 1e-3;
static const double small = 0x1p-10; /* of every clean step: times any power of two it is exact */

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
            hc_fixture_gradients(&fixture, small);
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
        w = w * (1 - lr * 1e-2) - lr * small / (small + 1e-8);
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
    double m = small * (1 - pow(0.9, 3));
    double v = small * small * (1 - pow(0.99, 3));
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

/* A log that still has the loss scale in it.

   The loss that goes into the backward pass is S times the loss, and so is every gradient until it
   is unscaled. What is logged in between is S times too large (a training loss of millions), and it
   jumps by two whenever the scale moves, which looks like a training that explodes and recovers.
   Code that divides by the scale on the way to the log may still be wrong: after scaler.update()
   the scale is that of the next step, so that at a growth the log shows half the loss.

   The rule of thumb: keep the unscaled loss for the log, log the norm of gradients after the
   unscaling, and read the scale before the update. Nothing is wrong with the training itself.

   The losses, gradients and scales are those of a small training under `amp`; the log is restated
   here. The third step is looked at, after which the scale doubles. */

enum { STEPS = 3 };

/* The third step of a training. */
struct step {
    double loss;
    double scaled;   /* norm of the gradients as the backward pass leaves them, */
    double unscaled; /* and as the optimizer gets them */
    double scale;    /* of the step, */
    double next;     /* and after it */
};

static double norm_of(struct hc_tiny *tiny, enum hc_state_tensor which)
{
    double sum = 0;
    for (int i = 0; !tiny->failed && i < hc_update_parameters(tiny->update); i++) {
        struct hc_tensor shape = hc_update_tensor(tiny->update, which, i);
        struct hc_tensor g = hc_check_vector(tiny->check, shape.format, hc_tensor_count(&shape));
        if (!hc_check_ok(tiny->check, hc_update_read(tiny->update, which, i, g.data)))
            tiny->failed = true;
        for (int64_t e = 0; e < hc_tensor_count(&g); e++)
            sum += hc_tensor_get(&g, e) * hc_tensor_get(&g, e);
    }
    return sqrt(sum);
}

static double scale_of(struct hc_tiny *tiny)
{
    struct hc_counters counters = {0};
    if (!tiny->failed && !hc_check_ok(tiny->check, hc_update_counters(tiny->update, &counters)))
        tiny->failed = true;
    return (double)counters.scale;
}

static bool train_and_log(struct hc_check *check, const char *name, struct step *third)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    struct hc_tiny tiny;
    if (recipe.scaler.rule != HC_SCALER_NONE) {
        recipe.scaler.initial = 2048; /* the thread's max_loss_scale */
        recipe.scaler.interval = STEPS;
    }
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, &recipe);
    for (int s = 0; s < STEPS; s++) {
        third->scale = scale_of(&tiny);
        third->loss = hc_tiny_step(&tiny, s, 1e-3);
    }
    third->next = scale_of(&tiny);
    third->scaled = norm_of(&tiny, HC_STATE_GRADIENT);
    third->unscaled = norm_of(&tiny, HC_STATE_MASTER_GRADIENT);
    return hc_tiny_close(&tiny);
}

/* S is a power of two: the optimizer's gradients are the backward pass's over S, without any
   rounding, and so are their norms in fp64. The bounds are margins, no error bounds: a loss by half
   is within 1/512 of fp32's, twice half's epsilon, and a norm of gradients within 1/64. */
static void logged(struct hc_check *check, struct hc_exhibits *shown)
{
    struct step half;
    struct step real;
    if (!train_and_log(check, "amp", &half) || !train_and_log(check, "fp32", &real))
        return;
    hc_exhibits_add(shown, "loss, times S", HC_FP32, half.loss * half.scale, half.loss, real.loss,
                    real.loss / 512);
    hc_exhibits_add(shown, "loss, by the next S", HC_FP32, half.loss * half.scale / half.next,
                    half.loss, real.loss, real.loss / 512);
    hc_exhibits_add(shown, "gradient norm", HC_FP32, half.scaled, half.unscaled, real.unscaled,
                    real.unscaled / 64);
    hc_claim_value(check, "scale of the third step", 2048, half.scale);
    hc_claim_value(check, "scale after it", 4096, half.next);
    hc_claim_value(check, "buggy: norm, times too large", 2048, half.scaled / half.unscaled);
}

/* The order of a few lines in a training loop, shown by a training.

   A loss scale S is a change of units: from the backward pass to the unscaling, gradients are S
   times what they stand for. Whatever is not linear in the gradient, or adds something to it that
   is not scaled, must come after the unscaling. Clipping to a norm looks at S times the norm, so
   that it clips always and leaves 1/S of the step: the loss is a flat line. Decay that is added to
   the scaled gradient is divided by S with it: there is no decay. And a static scale that nobody
   checks makes one overflow the end of the training: every weight is NaN after the first step.

   Each row trains a small network three times from the same weights on the same batches: with the
   order of the report, with the right one, and in fp32 without any scale. It learns stripes, which
   takes it 30 steps. The arms differ in one field of the recipe. The bounds are margins that a
   training keeps by far, and no error bounds: half's first loss is within 1/512 of fp32's, its last
   one within a tenth of the first, and the norm of the weights within a fiftieth. */

enum { ORDER_STEPS = 30 };

/* How a training began and ended. */
struct ends {
    double first;    /* loss of the first batch */
    double last;     /* loss over batches that it has not seen */
    double norm;     /* of the weights */
    int32_t skipped; /* steps */
};

static double norm_of_all(struct hc_tiny *tiny)
{
    double sum = 0;
    for (int i = 0; !tiny->failed && i < hc_update_parameters(tiny->update); i++) {
        struct hc_tensor shape = hc_update_tensor(tiny->update, HC_STATE_MASTER, i);
        struct hc_tensor w = hc_check_vector(tiny->check, shape.format, hc_tensor_count(&shape));
        if (!hc_check_ok(tiny->check, hc_update_read(tiny->update, HC_STATE_MASTER, i, w.data)))
            tiny->failed = true;
        for (int64_t e = 0; e < hc_tensor_count(&w); e++)
            sum += hc_tensor_get(&w, e) * hc_tensor_get(&w, e);
    }
    return sqrt(sum);
}

static bool train_in_order(struct hc_check *check, const struct hc_recipe *recipe,
                           struct hc_picture *picture, const char *series, struct ends *ends)
{
    struct hc_tiny tiny;
    struct hc_counters counters = {0};
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, recipe);
    for (int step = 0; step < ORDER_STEPS; step++) {
        double loss = hc_tiny_step(&tiny, step, 0.04);
        if (step == 0)
            ends->first = loss;
        if (isfinite(loss))
            hc_point(check, picture, series, step + 1, loss);
    }
    ends->last = hc_tiny_validate(&tiny);
    ends->norm = norm_of_all(&tiny);
    if (!tiny.failed && !hc_check_ok(check, hc_update_counters(tiny.update, &counters)))
        tiny.failed = true;
    ends->skipped = counters.skipped;
    return hc_tiny_close(&tiny);
}

/* SGD with momentum 0.9 and without decay: Adam would hide a gradient of the wrong size. */
static struct hc_recipe plain(const char *name)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    recipe.decay = HC_DECAY_L2;
    return recipe;
}

/* Trains all three and shows how they end. */
static bool compare(struct hc_check *check, struct hc_exhibits *shown,
                    const struct hc_recipe recipe[3], struct ends ends[3])
{
    static const char *const series[] = {"buggy", "fixed", "fp32"};
    static const struct hc_frame frame = {.title = "The loss of a small training",
                                          .x = "step",
                                          .y = "loss of the batch",
                                          .log_y = true};
    struct hc_picture *picture = hc_picture_new(check, &frame);
    for (int i = 0; i < 3; i++)
        if (!train_in_order(check, &recipe[i], picture, series[i], &ends[i]))
            return false;
    hc_exhibits_add(shown, "loss at first", HC_FP32, ends[0].first, ends[1].first, ends[2].first,
                    ends[2].first / 512);
    hc_exhibits_add(shown, "loss in the end", HC_FP32, ends[0].last, ends[1].last, ends[2].last,
                    ends[2].first / 10);
    hc_exhibits_add(shown, "norm of the weights", HC_FP32, ends[0].norm, ends[1].norm, ends[2].norm,
                    ends[2].norm / 50);
    hc_claim_true(check, "fp32 learns", ends[2].last < ends[2].first / 10);
    return true;
}

/* A limit of 10, which no gradient of this training reaches. */
static void clipped(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_recipe recipe[3] = {plain("amp"), plain("amp"), plain("fp32")};
    struct ends ends[3];
    recipe[0].clip_scaled = true;
    for (int arm = 0; arm < 2; arm++) {
        recipe[arm].clip = 10;
        recipe[arm].scaler.initial = 4096;
    }
    if (!compare(check, shown, recipe, ends))
        return;
    hc_claim_true(check, "buggy: the loss is where it was", ends[0].last > 0.9 * ends[0].first);
}

static void decayed(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_recipe recipe[3] = {plain("amp"), plain("amp"), plain("fp32")};
    struct ends ends[3];
    for (int arm = 0; arm < 3; arm++)
        recipe[arm].weight_decay = 0.02;
    recipe[0].decay = HC_DECAY_SCALED;
    recipe[0].scaler.initial = recipe[1].scaler.initial = 4096;
    if (!compare(check, shown, recipe, ends))
        return;
    hc_claim_true(check, "buggy: the weights are larger by a tenth",
                  ends[0].norm > 1.1 * ends[2].norm);
}

/* A scale of 2^24, at which gradients overflow. */
static void unchecked(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_recipe recipe[3] = {plain("amp"), plain("amp"), plain("fp32")};
    struct ends ends[3];
    recipe[0].scaler.rule = HC_SCALER_STATIC;
    recipe[0].scaler.initial = recipe[1].scaler.initial = 0x1p24F;
    if (!compare(check, shown, recipe, ends))
        return;
    hc_claim_value(check, "buggy: steps skipped", 0, ends[0].skipped);
    hc_claim_true(check, "fixed: steps are skipped until the scale fits",
                  ends[1].skipped >= 1 && ends[1].skipped < ORDER_STEPS / 2);
}

static const struct hc_case cases[] = {
    HC_BUG("field/hidden-overflow/nan-to-num-hides",
           "Gradients go through nan_to_num before the scaler looks: overflows are never noticed, "
           "the loss scale keeps growing, and every step is taken.",
           "facebookresearch/habitat-lab PR 2229, 'Bug Fix: sanitise non-finite gradients in "
           "PPO.before_step (#2226)', https://github.com/facebookresearch/habitat-lab/pull/2229",
           .play = scale_grows, .buggy = {.is = "262144 exact, 0, 11, -"},
           .fixed = {.is = "16384 exact, 3, 8, 0.99192"}, .fault = "skip-counts-t",
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
           .play = state_advances, .buggy = {.is = "4, -, -, -"},
           .fixed = {.is = "3, 2.65e-4, 2.83e-8, 0.99697"}, .fault = "skip-moves-momentum",
           .lesson = "A zero gradient is a step: skip the whole update, state and decay included."),
    HC_BUG("field/scale-floor/min-loss-scale-reached",
           "FloatingPointError: Minimum loss scale reached (0.0001), after a log of loss_scale "
           "0.000: every step overflows until the scale is gone.",
           "facebookresearch/fairseq issue 1529, 'FloatingPointError: Minimum loss scale reached "
           "(0.0001).', https://github.com/facebookresearch/fairseq/issues/1529; its issues 515, "
           "512, 282, 1215, 1895, 2384, 4555; ymcui/Chinese-LLaMA-Alpaca issue 534",
           .play = sinks, .buggy = {.prints = "0.0001, -, -", .is = "0.000122, 0, 64"},
           .fixed = {.is = "1, 1, 0"}, .fault = "scaler-floor-ignored",
           .lesson = "A scale of 1 that still overflows is a divergence: stop and find the number "
                     "that was infinite before it was scaled."),
    HC_BUG("field/scaled-log/lost-loss-scale-in-log",
           "With mixed precision the training loss is logged as 5000 or 6000000, though the model "
           "trains well.",
           "fastai/fastai issue 3048, 'Gradient Accumulation + Mixed Precision shows artificially "
           "high training loss', https://github.com/fastai/fastai/issues/3048; "
           "facebookresearch/fairchem PR 617, 'Fix amp scale factor for loss', "
           "https://github.com/facebookresearch/fairchem/pull/617 (off by two after a growth); "
           "deepspeedai/DeepSpeed PR 8588, 'Report the unscaled gradient norm from "
           "FP16_UnfusedOptimizer', https://github.com/deepspeedai/DeepSpeed/pull/8588",
           .play = logged, .fault = "restated-not-unscaled",
           .lesson = "Log the loss before it is scaled and gradients after they are unscaled; read "
                     "the scale before scaler.update()."),
    HC_BUG("field/order-in-training/clip-before-unscale",
           "With gradient clipping and loss scaling together the loss hardly falls: a flat curve.",
           "Lightning-AI/pytorch-lightning issue 9599, 'Clip norm after scaler.unscale_ in native "
           "fp16 training', https://github.com/Lightning-AI/pytorch-lightning/issues/9599; "
           "milesial/Pytorch-UNet issue 468; pytorch/examples issue 1196; harubaru/waifu-diffusion "
           "issue 64; allenai/allennlp PR 5426; rwth-i6/returnn PR 1595",
           .play = clipped, .fault = "restated-not-unscaled",
           .lesson =
               "Unscale first, then clip: a limit for gradients is no limit for S times them."),
    HC_BUG("field/order-in-training/wd-before-unscale",
           "Weight decay has no effect as soon as the loss is scaled.",
           "chainer/chainer issue 7335, 'Grad is wrong when using `WeightDecay` of Optimizer Hook "
           "and loss scaling', https://github.com/chainer/chainer/issues/7335; NVIDIA/OpenSeq2Seq "
           "PR 127 and PR 117",
           .play = decayed, .fault = "sgd-decay-forgotten",
           .lesson = "Add decay to the unscaled gradient, or decay the weight itself: S divides "
                     "whatever is added before."),
    HC_BUG("field/order-in-training/static-scale-no-overflow-check",
           "A static loss scale: after one overflow all weights are NaN and stay so.",
           "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: loss_scale:float=512., "
           "never checked for overflow; fastai/fastai PR 1608, 'Add Dynamic Loss Scaling to "
           "MixedPrecision Callback', https://github.com/fastai/fastai/pull/1608",
           .play = unchecked, .buggy = {.is = "-, nan, nan"}, .fault = "sgd-ignores-found",
           .lesson = "Check every gradient for infinities and skip the step; then a scale that is "
                     "too large costs a few steps."),
};

HC_CASES(field_plays_scaler, cases);
