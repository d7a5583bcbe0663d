#include "train/update/scaler.h"

#include <math.h>
#include <string.h>

const char *const hc_on_found_names[] = {"unseen", "skips", "steps anyway"};
const char *const hc_detector_names[] = {"none", "sum of each gradient", "each element"};

/* What the rows have in common. A scale that halves and doubles; a step that overflows is skipped,
   whatever the scale; the growth of DeepSpeed's rules; the end of the run at an overflow at scale
   1, as DeepSpeed's rules under ZeRO have it. */
#define HALVES    .growth = 2, .backoff = 0.5F
#define SKIPS     HALVES, .min_checked_scale = -1, .skip_on_overflow = true
#define EACH_1000 SKIPS, .when = HC_WHEN_MULTIPLE, .interval = 1000
#define ZERO      EACH_1000, .floor = 1, .hysteresis = 2, .error_at_floor = true
#define CONSTANT  .growth = 1, .backoff = 1, .min_checked_scale = (float)INFINITY

/* What becomes of a step. */
#define SKIPS_BY_SUM  .on_found = HC_FOUND_SKIPS, .detector = HC_DETECTOR_SUM
#define SKIPS_BY_EACH .on_found = HC_FOUND_SKIPS, .detector = HC_DETECTOR_EACH, .saves_clean = true

/* Python's numbers are fp64; here a scale is fp32 in every rule. */
const struct hc_scaler_info hc_scalers[HC_SCALER_COUNT] = {
    [HC_SCALER_NONE] =
        {
            .name = "none",
            .title = "scale 1",
            .source = "fp32 training; pytorch 2.15.0 torch/nn/modules/module.py, Module.half",
            .defects = "never looks",
            .initial = 1,
            .rule = {CONSTANT},
        },
    [HC_SCALER_STATIC] =
        {
            .name = "static",
            .title = "one scale, 512 as a rule",
            .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb; NVIDIA/apex "
                      "@e13873de apex/amp/scaler.py, LossScaler(loss_scale=number)",
            .defects = "never looks: one infinity poisons the masters for ever",
            .initial = 512,
            .rule = {CONSTANT},
        },
    [HC_SCALER_FASTAI] =
        {
            .name = "fastai",
            .title = "halved, doubled after 1000 clean steps up to 2^24",
            .source = "fastai 1.0.61 fastai/callbacks/fp16.py, MixedPrecision.on_backward_end",
            .defects = "a found step still steps; at scale 1 it overlooks what it finds; each fit "
                       "counts from 0",
            .on_found = HC_FOUND_STEPS,
            .detector = HC_DETECTOR_SUM,
            .initial = 0x1p16F,
            .rule = {HALVES, .min_checked_scale = 1, .max_scale = 0x1p24F, .cap = HC_CAP_BELOW,
                     .when = HC_WHEN_REACHED, .interval = 1000},
        },
    [HC_SCALER_FASTAI2] =
        {
            .name = "fastai2",
            .title = "halved, doubled after 500 good steps in all",
            .source = "fastai 2.0.0 to 2.1.10 fastai/callback/fp16.py, "
                      "MixedPrecision.after_backward; 2.2.0 to 2.8.12 "
                      "NonNativeMixedPrecision.before_step",
            .defects = "no cap, no floor; an overflow does not restart the count; each fit does",
            SKIPS_BY_SUM,
            .initial = 0x1p24F,
            .rule = {SKIPS, .interval = 500, .keep_clean = true},
        },
    [HC_SCALER_APEX_FP16UTILS] =
        {
            .name = "apex-fp16utils",
            .title = "halved down to 1, doubled after 1000 clean steps",
            .source = "NVIDIA/apex @48343d94 apex/fp16_utils/loss_scaler.py, "
                      "DynamicLossScaler.update_scale (since @fad78c16 FP16_Optimizer takes amp's "
                      "LossScaler)",
            .defects = "no cap: 40,000 clean steps reach 2^72; at scale 1 it skips for ever",
            SKIPS_BY_SUM,
            .saves_clean = true,
            .initial = 0x1p32F,
            .rule = {EACH_1000, .floor = 1},
        },
    [HC_SCALER_APEX_AMP] =
        {
            .name = "apex-amp",
            .title = "halved, doubled after 2000 clean steps up to 2^24",
            .source =
                "NVIDIA/apex @e13873de apex/amp/scaler.py, LossScaler.update_scale and unscale",
            .defects =
                "no floor: 1,091 overflows bring it to 0 (166 here, in fp32), and the next step's "
                "unscale ends the run: 1. / scale raises ZeroDivisionError",
            SKIPS_BY_EACH,
            .initial = 0x1p16F,
            .rule = {SKIPS, .max_scale = 0x1p24F, .cap = HC_CAP_CLAMP, .interval = 2000,
                     .error_at_floor = true},
        },
    [HC_SCALER_TORCH] =
        {
            .name = "torch",
            .title = "halved, doubled after 2000 clean steps while finite",
            .source =
                "pytorch 2.15.0 torch/amp/grad_scaler.py, GradScaler.update: _amp_update_scale_",
            .defects = "no floor: 166 halvings bring it to 0, which is for ever; a count beyond a "
                       "shortened interval never grows",
            SKIPS_BY_EACH,
            .initial = 0x1p16F,
            .rule = {SKIPS, .cap = HC_CAP_FINITE, .interval = 2000},
        },
    [HC_SCALER_DEEPSPEED_0170] =
        {
            .name = "deepspeed-0.17.0",
            .title = "halved at the second overflow, doubled after 1000 clean steps, raises at 1",
            .source = "deepspeed 0.17.0 runtime/fp16/loss_scaler.py, "
                      "DynamicLossScaler.update_scale; hysteresis 2 and 2^16 where the "
                      "configuration's fp16 names any number of the scaler's",
            .defects = "no cap; ends the run at an overflow at scale 1",
            SKIPS_BY_EACH,
            .initial = 0x1p16F,
            .rule = {ZERO},
        },
    [HC_SCALER_DEEPSPEED_0171] =
        {
            .name = "deepspeed-0.17.1",
            .title = "halved at the second overflow, doubled at the 1001st clean step and each "
                     "1000 after, raises at 1",
            .source = "deepspeed 0.17.1 to 0.19.8 runtime/fp16/loss_scaler.py, "
                      "DynamicLossScaler.update_scale (since commit e440506b), with the engine's "
                      "hysteresis 2",
            .defects = "no cap; growth comes a step late; ends the run at an overflow at scale 1",
            SKIPS_BY_EACH,
            .initial = 0x1p16F,
            .rule = {ZERO, .delay = 1},
        },
    [HC_SCALER_DEEPSPEED_CONSECUTIVE] =
        {
            .name = "deepspeed-consecutive",
            .title = "as deepspeed-0.17.1, but each clean step forgives one overflow more",
            .source = "deepspeed 0.17.1 to 0.19.8 runtime/fp16/loss_scaler.py, "
                      "DynamicLossScaler.update_scale with consecutive_hysteresis",
            .defects = "no cap; overflows at every other step never lower the scale",
            SKIPS_BY_EACH,
            .initial = 0x1p16F,
            .rule = {ZERO, .delay = 1, .refill_hysteresis = true},
        },
    [HC_SCALER_DEEPSPEED_FUSED] =
        {
            .name = "deepspeed-fused",
            .title = "halved down to 1, doubled at the 1001st clean step and each 1000 after",
            .source = "deepspeed 0.17.0 to 0.19.8 runtime/fp16/fused_optimizer.py, "
                      "FP16_Optimizer._update_scale; 2^16 as runtime/engine.py hands it (2^32 is "
                      "its own default)",
            .defects = "no cap; growth comes a step late; at scale 1 it skips for ever",
            SKIPS_BY_EACH,
            .initial = 0x1p16F,
            .rule = {EACH_1000, .floor = 1, .delay = 1},
        },
    [HC_SCALER_DEEPSPEED_UNFUSED] =
        {
            .name = "deepspeed-unfused",
            .title = "as deepspeed-fused, but halved down to 1/4",
            .source = "deepspeed 0.17.0 runtime/fp16/unfused_optimizer.py, "
                      "FP16_UnfusedOptimizer._update_scale, where the configuration's fp16 names "
                      "no number of the scaler's; from 0.17.1 on the engine hands it a floor of 1: "
                      "deepspeed-fused",
            .defects = "no cap; growth comes a step late; at scale 1/4 it skips for ever",
            SKIPS_BY_EACH,
            .initial = 0x1p16F,
            .rule = {EACH_1000, .floor = 0.25F, .delay = 1},
        },
};

enum hc_scaler_rule hc_scaler_by_name(const char *name)
{
    int rule = 0;
    while (rule < HC_SCALER_COUNT && strcmp(hc_scalers[rule].name, name) != 0)
        rule++;
    return (enum hc_scaler_rule)rule;
}

float hc_scaler_initial(const struct hc_scaler *scaler)
{
    return scaler->initial > 0 ? scaler->initial : hc_scalers[scaler->rule].initial;
}

struct hc_scaler_update hc_scaler_params(const struct hc_scaler *scaler)
{
    struct hc_scaler_update rule = hc_scalers[scaler->rule].rule;
    if (rule.interval == 0)
        return rule;
    if (scaler->growth > 0)
        rule.growth = scaler->growth;
    if (scaler->backoff > 0)
        rule.backoff = scaler->backoff;
    if (scaler->interval > 0)
        rule.interval = scaler->interval;
    return rule;
}
