/* The scale of the next step, by the rule of the file's scaler. */
#include <math.h>
#include <stdio.h>

#include "cli/judge_step/passes.h"
#include "train/update/scaler.h"

static int32_t count(struct hc_step *step, const char *name, double otherwise)
{
    double n = hc_step_scalar(step, name, otherwise);
    return n >= 0 && n <= INT32_MAX ? (int32_t)n : 0;
}

/* The rule with the file's own numbers. */
static struct hc_scaler scaler_of(struct hc_step *step)
{
    const char *rule = hc_tensor_file_metadata(&step->file, "scaler");
    double interval = hc_step_number(step, "growth_interval", 0);
    return (struct hc_scaler){.rule = rule ? hc_scaler_by_name(rule) : HC_SCALER_TORCH,
                              .growth = (float)hc_step_number(step, "growth", 0),
                              .backoff = (float)hc_step_number(step, "backoff", 0),
                              .interval = interval < INT32_MAX ? (int32_t)interval : 0};
}

static double next_scale(struct hc_step *step, const struct hc_scaler *scaler)
{
    float scale = (float)hc_step_scalar(step, "scale", 1);
    float found = hc_step_scalar(step, "found_inf", 0) != 0;
    int32_t counts[HC_COUNTS] = {[HC_COUNT_STEPS] = count(step, "counts.steps", 0),
                                 [HC_COUNT_TAKEN] = count(step, "optimizer.step", 0),
                                 [HC_COUNT_SKIPPED] = count(step, "counts.skipped", 0),
                                 [HC_COUNT_FOUND] = count(step, "counts.found", 0),
                                 [HC_COUNT_CLEAN] = count(step, "scaler.growth_tracker", 0),
                                 [HC_COUNT_HELD_BACK] = count(step, "scaler.held_back", 0),
                                 [HC_COUNT_GAVE_UP] = count(step, "scaler.gave_up", 0)};
    struct hc_call call = {.op = HC_OP_scaler_update,
                           .in = {[HC_SCALER_SCALE] = hc_tensor1(HC_FP32, 1, &scale),
                                  [HC_SCALER_COUNTS] = hc_tensor1(HC_I32, HC_COUNTS, counts),
                                  [HC_SCALER_FOUND_INF] = hc_tensor1(HC_FP32, 1, &found)},
                           .out = {[HC_SCALER_NEW_SCALE] = hc_tensor1(HC_FP32, 1, NULL),
                                   [HC_SCALER_NEW_COUNTS] = hc_tensor1(HC_I32, HC_COUNTS, NULL)},
                           .params.scaler = hc_scaler_params(scaler)};
    return hc_reference_value(&call, HC_SCALER_NEW_SCALE, 0).hi;
}

void hc_step_judge_scale(struct hc_step_court *court)
{
    struct hc_step *step = court->step;
    struct hc_scaler scaler = scaler_of(step);
    if (!hc_tensor_file_find(&step->file, "after.scale") || scaler.rule == HC_SCALER_NONE ||
        step->status != HC_OK)
        return;
    struct hc_step_verdict *v = hc_step_add_verdict(court, "scale", "of the next step", "scale");
    if (!v)
        return;
    v->elements = 1;
    if (scaler.rule == HC_SCALER_COUNT ||
        !hc_tensor_file_find(&step->file, "scaler.growth_tracker")) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note, "%s",
                       scaler.rule == HC_SCALER_COUNT
                           ? "the rule of its scaler is unknown"
                           : "the file lacks scaler.growth_tracker, how many steps were clean");
        return;
    }
    v->want = next_scale(step, &scaler);
    v->got = hc_step_scalar(step, "after.scale", 1);
    v->checked = 1;
    v->judgement = v->want == v->got ? HC_STEP_RIGHT : HC_STEP_WRONG;
    (void)snprintf(v->format, sizeof v->format, "fp32");
    if (v->want != v->got)
        (void)snprintf(v->note, sizeof v->note, "the rule %s says otherwise",
                       hc_scalers[scaler.rule].name);
}
