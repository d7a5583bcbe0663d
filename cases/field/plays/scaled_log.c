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
#include "cases/fixture/bug.h"
#include "cases/fixture/tiny_training.h"

#include <math.h>

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

static bool train(struct hc_check *check, const char *name, struct step *third)
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
    if (!train(check, "amp", &half) || !train(check, "fp32", &real))
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

static const struct hc_case cases[] = {
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
};

HC_CASES(field_plays_scaled_log, cases);
