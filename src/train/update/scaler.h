/* Loss scalers: the systems' rules as rows of data.

   fp16 has no numbers below 2^-24, where many gradients lie. So the loss is multiplied by a scale,
   which the gradients inherit, and they are divided by it before the optimizer sees them. If the
   scale is too large a gradient overflows: it is lowered then, and grows again after enough clean
   steps. Every system has a rule of its own for when it looks, what becomes of the step that
   overflowed, how the scale falls and grows, and where it stops.

   What a rule does to the scale and the counts is data for the op scaler_update (op/control.h);
   what becomes of the step stands here beside it. The rules are read from the systems' own sources,
   which each row names, with what is known to be wrong with them. */
#ifndef HC_TRAIN_UPDATE_SCALER_H
#define HC_TRAIN_UPDATE_SCALER_H

#include <stdbool.h>
#include <stdint.h>

#include "op/call.h"

enum hc_scaler_rule {
    HC_SCALER_NONE,    /* scale 1; infinities and NaNs go into the weights */
    HC_SCALER_STATIC,  /* a fixed scale, no check (fastai nb_004b, Apex amp's static scales) */
    HC_SCALER_FASTAI,  /* fastai 1.0.61 */
    HC_SCALER_FASTAI2, /* fastai v2, its own (not the native one, which is torch's) */
    HC_SCALER_APEX_FP16UTILS,        /* Apex's DynamicLossScaler, in the old FP16_Optimizer */
    HC_SCALER_APEX_AMP,              /* Apex amp's LossScaler */
    HC_SCALER_TORCH,                 /* torch GradScaler, _amp_update_scale_ */
    HC_SCALER_DEEPSPEED_0170,        /* DeepSpeed's DynamicLossScaler under ZeRO, up to 0.17.0 */
    HC_SCALER_DEEPSPEED_0171,        /* the same from 0.17.1 on: growth comes a step later */
    HC_SCALER_DEEPSPEED_CONSECUTIVE, /* the same with consecutive_hysteresis */
    HC_SCALER_DEEPSPEED_FUSED,       /* DeepSpeed's FP16_Optimizer */
    HC_SCALER_DEEPSPEED_UNFUSED,     /* DeepSpeed's FP16_UnfusedOptimizer, up to 0.17.0 */
    HC_SCALER_COUNT
};

/* A rule with a recipe's own numbers. A number that is 0 leaves the rule's own. */
struct hc_scaler {
    enum hc_scaler_rule rule;
    float initial;
    float growth;
    float backoff;
    int32_t interval; /* clean steps before growth */
};

/* What becomes of a step whose gradients hold an infinity or NaN. */
enum hc_on_found {
    HC_FOUND_UNSEEN, /* the rule never looks */
    HC_FOUND_SKIPS,  /* the optimizer does not run */
    HC_FOUND_STEPS /* the gradients are not copied, but the optimizer runs on what the masters hold
                        (fastai 1.0.61, update_step.c) */
};

enum hc_detector {
    HC_DETECTOR_NONE,
    HC_DETECTOR_SUM, /* looks whether the fp32 sum of each 16-bit gradient is infinite or NaN */
    HC_DETECTOR_EACH /* looks at each element */
};

struct hc_scaler_info {
    const char *name;
    const char *title;
    const char *source;
    const char *defects; /* what is known to be wrong with it, or NULL */
    enum hc_on_found on_found;
    enum hc_detector detector;
    bool saves_clean; /* a state dict, or a new fit, keeps the count of clean steps */
    float initial;
    struct hc_scaler_update rule;
};

extern const struct hc_scaler_info hc_scalers[HC_SCALER_COUNT];
extern const char *const hc_on_found_names[];
extern const char *const hc_detector_names[];

/* By name; HC_SCALER_COUNT when there is none. */
enum hc_scaler_rule hc_scaler_by_name(const char *name);

/* The scale at the first step, and the parameters of the op scaler_update. */
float hc_scaler_initial(const struct hc_scaler *scaler);
struct hc_scaler_update hc_scaler_params(const struct hc_scaler *scaler);

#endif
