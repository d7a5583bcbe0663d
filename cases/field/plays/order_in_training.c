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
#include "cases/fixture/bug.h"
#include "cases/fixture/tiny_training.h"

#include <math.h>

enum { STEPS = 30 };

/* How a training began and ended. */
struct ends {
    double first;    /* loss of the first batch */
    double last;     /* loss over batches that it has not seen */
    double norm;     /* of the weights */
    int32_t skipped; /* steps */
};

static double norm_of(struct hc_tiny *tiny)
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

static bool train(struct hc_check *check, const struct hc_recipe *recipe,
                  struct hc_picture *picture, const char *series, struct ends *ends)
{
    struct hc_tiny tiny;
    struct hc_counters counters = {0};
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, recipe);
    for (int step = 0; step < STEPS; step++) {
        double loss = hc_tiny_step(&tiny, step, 0.04);
        if (step == 0)
            ends->first = loss;
        if (isfinite(loss))
            hc_point(check, picture, series, step + 1, loss);
    }
    ends->last = hc_tiny_validate(&tiny);
    ends->norm = norm_of(&tiny);
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
        if (!train(check, &recipe[i], picture, series[i], &ends[i]))
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
                  ends[1].skipped >= 1 && ends[1].skipped < STEPS / 2);
}

static const struct hc_case cases[] = {
    HC_BUG("field/order-in-training/clip-before-unscale",
           "With gradient clipping and loss scaling together the loss hardly falls: a flat curve.",
           "Lightning-AI/pytorch-lightning issue 9599, 'Clip norm after scaler.unscale_ in native "
           "fp16 training', https://github.com/Lightning-AI/pytorch-lightning/issues/9599; "
           "milesial/Pytorch-UNet issue 468; pytorch/examples issue 1196; "
           "harubaru/waifu-diffusion issue 64; allenai/allennlp PR 5426; rwth-i6/returnn PR 1595",
           .play = clipped, .fault = "restated-not-unscaled",
           .lesson = "Unscale first, then clip: a limit for gradients is no limit for S times "
                     "them."),
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
           "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
           "loss_scale:float=512., never checked for overflow; fastai/fastai PR 1608, 'Add Dynamic "
           "Loss Scaling to MixedPrecision Callback', https://github.com/fastai/fastai/pull/1608",
           .play = unchecked, .buggy = {.prints = "-, nan, nan"}, .fault = "sgd-ignores-found",
           .lesson = "Check every gradient for infinities and skip the step; then a scale that is "
                     "too large costs a few steps."),
};

HC_CASES(field_plays_order_in_training, cases);
