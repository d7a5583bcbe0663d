/* The descriptors of op/control.h. */
#include <math.h>

#include "num/format.h"
#include "op/families.h"
#include "op/params.h"
#include "op/rule.h"

static const char *const caps[] = {
    [HC_CAP_NONE] = "none",
    [HC_CAP_BELOW] = "below",
    [HC_CAP_CLAMP] = "clamp",
    [HC_CAP_FINITE] = "finite",
};

static const char *const growths[] = {
    [HC_WHEN_EQUAL] = "equal", [HC_WHEN_REACHED] = "reached", [HC_WHEN_MULTIPLE] = "multiple"};

/* torch.amp.GradScaler's. */
static const struct hc_param scaler_params[] = {
    {"growth", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.growth), .usual = "2"},
    {"backoff", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.backoff), .usual = "0.5"},
    {"min_checked_scale", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.min_checked_scale),
     .usual = "-1"},
    {"floor", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.floor), .usual = "0"},
    {"max_scale", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.max_scale), .usual = "inf"},
    {"cap", HC_PARAM_WORD, offsetof(union hc_params, scaler.cap), .usual = "finite", .words = caps,
     .word_count = HC_CAP_FINITE + 1},
    {"when", HC_PARAM_WORD, offsetof(union hc_params, scaler.when), .usual = "equal",
     .words = growths, .word_count = HC_WHEN_MULTIPLE + 1},
    {"interval", HC_PARAM_INTEGER, offsetof(union hc_params, scaler.interval), .usual = "2000"},
    {"delay", HC_PARAM_INTEGER, offsetof(union hc_params, scaler.delay), .usual = "0"},
    {"hysteresis", HC_PARAM_INTEGER, offsetof(union hc_params, scaler.hysteresis), .usual = "0"},
    {"skip_on_overflow", HC_PARAM_FLAG, offsetof(union hc_params, scaler.skip_on_overflow),
     .usual = "true"},
    {"wait_for_first_step", HC_PARAM_FLAG, offsetof(union hc_params, scaler.wait_for_first_step),
     .usual = "false"},
    {"keep_clean", HC_PARAM_FLAG, offsetof(union hc_params, scaler.keep_clean), .usual = "false"},
    {"error_at_floor", HC_PARAM_FLAG, offsetof(union hc_params, scaler.error_at_floor),
     .usual = "false"},
    {"refill_hysteresis", HC_PARAM_FLAG, offsetof(union hc_params, scaler.refill_hysteresis),
     .usual = "false"},
    {0},
};

static const struct hc_param clip_params[] = {
    {"max_norm", HC_PARAM_REAL, offsetof(union hc_params, clip.max_norm), .usual = "1"},
    {0},
};

static const struct hc_param augment_params[] = {
    {"seed", HC_PARAM_SEED, offsetof(union hc_params, augment.seed), .usual = "0"},
    {"batches", HC_PARAM_LONG, offsetof(union hc_params, augment.batches), .usual = "1"},
    {"pad", HC_PARAM_INTEGER, offsetof(union hc_params, augment.pad), .usual = "4"},
    {"crops", HC_PARAM_FLAG, offsetof(union hc_params, augment.crops), .usual = "false"},
    {"mean", HC_PARAM_REAL, offsetof(union hc_params, augment.mean), .usual = "0,0,0", .count = 3},
    {"deviation", HC_PARAM_REAL, offsetof(union hc_params, augment.deviation), .usual = "1,1,1",
     .count = 3},
    {0},
};

static const char *const counts[HC_COUNTS] = {
    [HC_COUNT_STEPS] = "steps",     [HC_COUNT_TAKEN] = "taken",
    [HC_COUNT_SKIPPED] = "skipped", [HC_COUNT_FOUND] = "found",
    [HC_COUNT_CLEAN] = "clean",     [HC_COUNT_HELD_BACK] = "held_back",
    [HC_COUNT_GAVE_UP] = "gave_up", [HC_COUNTS - 1] = "reserved",
};

static enum hc_status scaler_rule(const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    if (p->interval < 0 || p->delay < 0 || p->hysteresis < 0)
        return hc_fail(HC_INVALID, "scaler_update: a count of steps is negative");
    if (p->skip_on_overflow && !(p->min_checked_scale < 0))
        return hc_fail(
            HC_INVALID,
            "scaler_update: a rule that does not always check for overflow cannot skip a step");
    return HC_OK;
}

static const struct hc_descriptor scaler_update = {
    .params = scaler_params,
    .in = {[HC_SCALER_SCALE] = {"scale", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                .values = HC_VALUES_SCALAR},
           [HC_SCALER_COUNTS] = {"counts", HC_ALLOW_I32, HC_SIZE_FIXED, HC_COUNTS,
                                 .elements = counts, .values = HC_VALUES_COUNTS},
           [HC_SCALER_FOUND_INF] = {"found_inf", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                    .values = HC_VALUES_FLAG}},
    .out = {[HC_SCALER_NEW_SCALE] = {"new_scale", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                     .like = HC_SCALER_SCALE, .in_place = true},
            [HC_SCALER_NEW_COUNTS] = {"new_counts", HC_ALLOW_I32, HC_SIZE_FIXED, HC_COUNTS,
                                      .elements = counts, .like = HC_SCALER_COUNTS,
                                      .in_place = true}},
    .rule = scaler_rule,
};

static const char *const verdict[HC_VERDICT_ELEMENTS] = {
    [HC_VERDICT_OVERFLOWED] = "overflowed", [HC_VERDICT_SKIPPED] = "skipped"};

static const struct hc_descriptor overflow_verdict = {
    .params = scaler_params,
    .in = {[HC_SCALER_SCALE] = {"scale", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                .values = HC_VALUES_SCALAR},
           [HC_SCALER_COUNTS] = {"counts", HC_ALLOW_I32, HC_SIZE_FIXED, HC_COUNTS,
                                 .elements = counts, .values = HC_VALUES_COUNTS},
           [HC_SCALER_FOUND_INF] = {"found_inf", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                    .values = HC_VALUES_FLAG}},
    .out = {[HC_VERDICT_OUT] = {"out", HC_ALLOW_FP32, HC_SIZE_FIXED, HC_VERDICT_ELEMENTS,
                                .elements = verdict}},
    .rule = scaler_rule,
};

/* A table has rows; there is no last one of none. */
static enum hc_status has_rows(const struct hc_call *call, const struct hc_tensor *t, int columns)
{
    enum hc_status status = hc_rule_rank(call, t, 2);
    if (status != HC_OK)
        return status;
    if (t->shape[0] < 1)
        return hc_fail(HC_INVALID, "%s: a table of no rows", hc_ops[call->op].name);
    return hc_rule_shape(call, t, 2, (int64_t[]){-1, columns});
}

static enum hc_status rates_rule(const struct hc_call *call)
{
    return has_rows(call, &call->in[HC_RATES_TABLE], HC_TABLE_COLUMNS);
}

static const char *const hyper[HC_HYPER_COUNT] = {
    [HC_HYPER_LR] = "lr", [HC_HYPER_BETA1] = "beta1", [HC_HYPER_STEP] = "step"};

static const struct hc_descriptor rates = {
    .in = {[HC_RATES_TABLE] = {"table", HC_ALLOW_FP32, HC_SIZE_RULE, .shape = "[n, 2]",
                               .values = HC_VALUES_DATA},
           [HC_RATES_COUNTS] = {"counts", HC_ALLOW_I32, HC_SIZE_FIXED, HC_COUNTS,
                                .elements = counts, .values = HC_VALUES_COUNTS}},
    .out = {[HC_RATES_HYPER] = {"hyper", HC_ALLOW_FP32, HC_SIZE_FIXED, HC_HYPER_COUNT,
                                .elements = hyper}},
    .rule = rates_rule,
};

static enum hc_status step_log_rule(const struct hc_call *call)
{
    return has_rows(call, &call->in[HC_STEP_LOG_ROWS], HC_STEP_LOG_COLUMNS);
}

static const struct hc_descriptor step_log = {
    .in = {[HC_STEP_LOG_ROWS] = {"rows", HC_ALLOW_FP32, HC_SIZE_RULE, .shape = "[n, 4]",
                                 .values = HC_VALUES_DATA},
           [HC_STEP_LOG_COUNTS] = {"counts", HC_ALLOW_I32, HC_SIZE_FIXED, HC_COUNTS,
                                   .elements = counts, .values = HC_VALUES_COUNTS},
           [HC_STEP_LOG_SCALARS] = {"scalar0", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                    .values = HC_VALUES_DATA},
           [HC_STEP_LOG_SCALARS + 1] = {"scalar1", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                        .optional = true, .values = HC_VALUES_DATA},
           [HC_STEP_LOG_SCALARS + 2] = {"scalar2", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                        .optional = true, .values = HC_VALUES_DATA},
           [HC_STEP_LOG_SCALARS + 3] = {"scalar3", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                        .optional = true, .values = HC_VALUES_DATA}},
    .out = {[HC_STEP_LOG_NEW_ROWS] = {"new_rows", HC_ALLOW_FP32, .like = HC_STEP_LOG_ROWS,
                                      .in_place = true}},
    .rule = step_log_rule,
};

static enum hc_status clip_rule(const struct hc_call *call)
{
    double most = call->params.clip.max_norm;
    if (most >= 0 && isfinite(hc_round(HC_FP32, most)))
        return HC_OK;
    return hc_fail(HC_INVALID, "clip: no norm can be at most %g", most);
}

static const struct hc_descriptor clip = {
    .params = clip_params,
    .in = {[HC_CLIP_SUM_SQUARES] = {"sum_squares", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                    .values = HC_VALUES_SUM_OF_SQUARES},
           [HC_CLIP_OVERFLOWED] = {"overflowed", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                   .values = HC_VALUES_FLAG}},
    .out = {[HC_CLIP_FACTOR] = {"factor", HC_ALLOW_FP32, HC_SIZE_FIXED, 1,
                                .like = HC_CLIP_SUM_SQUARES, .in_place = true}},
    .rule = clip_rule,
};

static enum hc_status augment_rule(const struct hc_call *call)
{
    const struct hc_augment *p = &call->params.augment;
    const struct hc_tensor *pixels = &call->in[HC_AUGMENT_PIXELS];
    const struct hc_tensor *labels = &call->in[HC_AUGMENT_LABELS];
    const struct hc_tensor *images = &call->out[HC_AUGMENT_IMAGES];
    const struct hc_tensor *image_labels = &call->out[HC_AUGMENT_IMAGE_LABELS];
    const struct hc_tensor *new_steps = &call->out[HC_AUGMENT_NEW_STEPS];
    enum hc_status status = hc_rule_shape(call, pixels, 4, (int64_t[]){-1, -1, -1, 3});
    if (status == HC_OK)
        status =
            hc_rule_shape(call, images, 4, (int64_t[]){-1, pixels->shape[1], pixels->shape[2], 3});
    if (status == HC_OK)
        status = hc_rule_shape(call, labels, 1, pixels->shape);
    if (status == HC_OK)
        status = hc_rule_shape(call, image_labels, 1, images->shape);
    if (status == HC_OK && new_steps->data)
        status = hc_rule_shape(call, new_steps, 1, (int64_t[]){1});
    if (status != HC_OK)
        return status;
    if (hc_tensor_count(&call->in[HC_AUGMENT_STEPS]) < 1)
        return hc_fail(HC_INVALID, "augment: no steps");
    if (labels->data && labels->data == image_labels->data)
        return hc_fail(HC_INVALID, "augment: image_labels overlaps labels");
    if (p->batches < 1 || p->pad < 0 || p->pad >= pixels->shape[1] || p->pad >= pixels->shape[2])
        return hc_fail(HC_INVALID, "augment: %lld batches, pad %d", (long long)p->batches, p->pad);
    return HC_OK;
}

static const struct hc_descriptor augment = {
    .params = augment_params,
    .in = {[HC_AUGMENT_PIXELS] = {"pixels", HC_ALLOW_U8, HC_SIZE_RULE, .shape = "[N, H, W, 3]",
                                  .values = HC_VALUES_DATA},
           [HC_AUGMENT_LABELS] = {"labels", HC_ALLOW_I32, HC_SIZE_RULE, .shape = "[N]",
                                  .values = HC_VALUES_LABELS},
           [HC_AUGMENT_STEPS] = {"steps", HC_ALLOW_I32, HC_SIZE_RULE, .shape = "1 or more",
                                 .values = HC_VALUES_COUNTS},
           [HC_AUGMENT_ORDER] = {"order", HC_ALLOW_I32, HC_SIZE_RULE, .shape = "any",
                                 .optional = true, .values = HC_VALUES_COUNTS}},
    .out = {[HC_AUGMENT_IMAGES] = {"images", HC_ALLOW_FLOAT, HC_SIZE_RULE, .shape = "[B, H, W, 3]"},
            [HC_AUGMENT_IMAGE_LABELS] = {"image_labels", HC_ALLOW_I32, HC_SIZE_RULE,
                                         .shape = "[B]"},
            [HC_AUGMENT_NEW_STEPS] = {"new_steps", HC_ALLOW_I32, HC_SIZE_FIXED, 1, .optional = true,
                                      .like = HC_AUGMENT_STEPS, .in_place = true}},
    .through_fp32 = true,
    .rule = augment_rule,
};

const struct hc_descriptor *const hc_control_ops[HC_OP_ROOM] = {
    [HC_OP_scaler_update] = &scaler_update,
    [HC_OP_overflow_verdict] = &overflow_verdict,
    [HC_OP_rates] = &rates,
    [HC_OP_step_log] = &step_log,
    [HC_OP_clip] = &clip,
    [HC_OP_augment] = &augment,
};
