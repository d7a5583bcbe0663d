/* Loss scalers: the systems' rules as rows of data. What a rule does to the scale and the counts is the
   op scaler_update (op/call.h); what it does to the step stands here. */
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

/* A rule with a recipe's own numbers. Of those that are 0 the rule's usual ones are taken. */
struct hc_scaler {
    enum hc_scaler_rule rule;
    float initial;
    float growth;
    float backoff;
    int32_t interval; /* clean steps before growth */
};

/* What becomes of a step in which the rule sees an infinity or NaN. */
enum hc_on_found {
    HC_FOUND_UNSEEN, /* it never looks */
    HC_FOUND_SKIPS,  /* the optimizer does not run */
    HC_FOUND_STEPS /* the gradients are not copied, but the optimizer runs on what the masters hold:
                        nothing at the first step, uninitialised memory with flat masters, zeros later;
                        momenta move, weight decay applies (fastai 1.0.61) */
};

enum hc_detector {
    HC_DETECTOR_NONE,
    HC_DETECTOR_SUM, /* the fp32 sum of each half gradient is infinite or NaN */
    HC_DETECTOR_EACH /* some element is */
};

struct hc_scaler_info {
    const char *name;
    const char *title;
    const char *source;
    const char *defects; /* what is known to be wrong with it, or NULL */
    enum hc_on_found on_found;
    enum hc_detector detector;
    bool saves_clean; /* a state dict or a new fit keeps the count of clean steps */
    float initial;
    struct hc_scaler_update rule;
};

extern const struct hc_scaler_info hc_scalers[HC_SCALER_COUNT];
extern const char *const hc_on_found_names[];
extern const char *const hc_detector_names[];

/* By name; HC_SCALER_COUNT when there is none. */
enum hc_scaler_rule hc_scaler_by_name(const char *name);

/* The scale at the first step, and what the op scaler_update is told. */
float hc_scaler_initial(const struct hc_scaler *scaler);
struct hc_scaler_update hc_scaler_params(const struct hc_scaler *scaler);

#endif
