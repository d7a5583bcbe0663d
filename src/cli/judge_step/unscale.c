/* The claims about the loss scale: unscaling and clipping, between the backward pass and the
   optimizer, and the scale of the next step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "cli/judge_step/cause.h"
#include "cli/judge_step/claim.h"
#include "cli/judge_step/passes.h"
#include "num/ulp.h"
#include "train/update/scaler.h"

/* From the gradients of the scaled loss to those that the optimizer gets: divided by the scale, and
   clipped to a norm. */

static const char unscale_stage[] = "unscale";

static bool holds_overflow(const struct hc_tensor *t)
{
    for (int64_t i = 0; t->data && i < hc_tensor_count(t); i++)
        if (!isfinite(hc_tensor_get(t, i)))
            return true;
    return false;
}

static bool overflowed(struct hc_step *step)
{
    for (int p = 0; p < step->parameters; p++) {
        struct hc_tensor g = hc_step_parameter(step, p, "gradients.");
        if (holds_overflow(&g))
            return true;
    }
    return false;
}

/* What becomes of a step with an overflow, under the rule of the file's scaler. */
static enum hc_on_found on_found(const struct hc_step *step)
{
    const char *rule = hc_tensor_file_metadata(&step->file, "scaler");
    enum hc_scaler_rule known = rule ? hc_scaler_by_name(rule) : HC_SCALER_TORCH;
    return hc_scalers[known == HC_SCALER_COUNT ? HC_SCALER_TORCH : known].on_found;
}

bool hc_step_left_out(struct hc_step_session *session)
{
    return hc_tensor_file_find(&session->step->file, "found_inf") &&
           on_found(session->step) == HC_FOUND_SKIPS && overflowed(session->step);
}

/* sqrt(sum g^2) over all gradients, divided by the scale, in fp64: n squares and sums are off by at
   most n 2^-53 of it, which for all that fits in memory is far below what fp32 may lose. Whoever
   sums the n squares in fp32 in any order is off by at most n u of the sum, and by half as much of
   its root; the root, 1e-6, the division and the product with max_norm are four roundings more. */
static struct hc_step_factor clipping(struct hc_step *step, double scale, double max_norm)
{
    double squares = 0;
    double n = 0;
    for (int p = 0; p < step->parameters; p++) {
        struct hc_tensor g = hc_step_parameter(step, p, "gradients.");
        for (int64_t i = 0; g.data && i < hc_tensor_count(&g); i++, n++) {
            double x = hc_tensor_get(&g, i) / scale;
            squares += x * x;
        }
    }
    double u = hc_format_unit(HC_FP32);
    double value = max_norm / (sqrt(squares) + 1e-6);
    if (!(max_norm > 0))
        return (struct hc_step_factor){1, 0};
    return (struct hc_step_factor){fmin(value, 1), expm1(n * u / 2 + 4 * u)};
}

/* The factors that would make `got` of g, if it is within three roundings in the format and fp32
   and `more` of it: an interval, which is narrowed. False if none would. */
static bool narrow(double interval[2], double g, double got, enum hc_format format, double more)
{
    double slack = 4 * hc_format_unit(HC_FP32);
    double half = hc_ulp(format, got) / 2 + slack * fabs(got) + hc_format_tiny(HC_FP32) + more;
    if (g == 0 || !isfinite(g) || !isfinite(got))
        return g == 0 ? got == 0 : isfinite(got) == isfinite(g);
    double low = (got - half) / g;
    double high = (got + half) / g;
    interval[0] = fmax(interval[0], fmin(low, high));
    interval[1] = fmin(interval[1], fmax(low, high));
    return interval[0] <= interval[1];
}

/* How the optimizer's gradients may have been made of the model's. */
struct way {
    const char *name;
    const char *text;
    double divisor;
    struct hc_step_factor factor; /* of clipping */
    bool early; /* it comes first, and its products were rounded into the model's format */
    enum hc_format format; /* into which the quotient, or in the end the product, was rounded;
                              HC_FORMAT_COUNT: none */
    bool last;             /* the product */
    bool tried;            /* it differs from what is right, and from the other ways */
};

static struct way right_way(struct hc_step *step)
{
    double scale = hc_step_scalar(step, "scale", 1);
    return (struct way){.divisor = scale,
                        .factor = clipping(step, scale, hc_step_number(step, "clip", 0)),
                        .format = HC_FORMAT_COUNT};
}

/* Whether one factor of clipping makes all optimizer's gradients out of the model's in this way;
   the first that it does not make stays in *v. */
static bool one_factor(struct hc_step *step, const struct way *way, struct hc_step_verdict *v)
{
    double interval[2] = {way->factor.value * (1 - way->factor.slack),
                          way->factor.value * (1 + way->factor.slack)};
    bool rounds = way->format != HC_FORMAT_COUNT;
    for (int p = 0; p < step->parameters; p++) {
        struct hc_tensor g = hc_step_parameter(step, p, "gradients.");
        struct hc_tensor got = hc_step_parameter(step, p, "unscaled.");
        for (int64_t i = 0; g.data && got.data && i < hc_tensor_count(&g); i++) {
            double before[2] = {interval[0], interval[1]};
            double real = hc_tensor_get(&g, i) / way->divisor;
            double is = hc_tensor_get(&got, i);
            double more = way->early ? hc_ulp(g.format, is * way->divisor) / 2 / way->divisor : 0;
            bool held = !(rounds && way->last) || hc_round(way->format, is) == is || isnan(is);
            if (rounds && !way->last)
                real = hc_round(way->format, real);
            else if (rounds)
                more += hc_ulp(way->format, is) / 2;
            v->checked++;
            if (held && narrow(interval, real, is, got.format, more))
                continue;
            v->wrong = 1;
            v->want = real * (before[0] + before[1]) / 2;
            v->got = is;
            v->error = fabs(is - v->want);
            v->bound = fabs(real) * (before[1] - before[0]) / 2 + hc_ulp(got.format, is) / 2;
            v->ratio = hc_ratio(v->error, v->bound);
            v->ulps = v->error / hc_ulp(got.format, v->want);
            hc_step_name(step, p, v->where);
            return false;
        }
    }
    v->ratio = 0;
    return true;
}

enum { WAYS = 13 };

/* What may have been done instead. Gradients that are divided by the scale once more after they
   were clipped are those that are clipped before: the two are one row. */
static void list_ways(struct hc_step *step, struct way ways[WAYS])
{
    struct way right = right_way(step);
    double scale = right.divisor;
    double max_norm = hc_step_number(step, "clip", 0);
    struct hc_step_factor none = {1, 0};
    struct hc_step_factor scaled = clipping(step, 1, max_norm);
    bool scales = scale != 1;
    bool early = scales && scaled.value != 1;
    bool clips = right.factor.value != 1;
    enum hc_format no = HC_FORMAT_COUNT;
    static const char to_bf16[] = "the gradients were rounded to bf16";
    static const char to_fp16[] = "the gradients were rounded to fp16";
    const struct way all[WAYS] = {
        {"not-unscaled", "the gradients were not divided by the scale", 1, none, false, no, false,
         scales && scaled.value == 1},
        {"neither", "the gradients were neither divided by the scale nor clipped", 1, none, false,
         no, false, early},
        {"clipped-early", "the gradients were clipped before they were divided by the scale", scale,
         scaled, true, no, false, early},
        {"clipped-not-unscaled", "the gradients were clipped, but not divided by the scale", 1,
         scaled, true, no, false, early},
        {"not-clipped", "the gradients were not clipped", scale, none, false, no, false, clips},
        {"unscaled-twice", "the gradients were divided by the scale twice", scale * scale,
         clipping(step, scale * scale, max_norm), false, no, false, scales},
        {"scaled-again", "the gradients were multiplied by the scale", 1 / scale,
         clipping(step, 1 / scale, max_norm), false, no, false, scales},
        {"gradient-bf16", to_bf16, scale, right.factor, false, HC_BF16, false, true},
        {"gradient-bf16", to_bf16, scale, right.factor, false, HC_BF16, true, clips},
        {"gradient-fp16", to_fp16, scale, right.factor, false, HC_FP16, false, true},
        {"gradient-fp16", to_fp16, scale, right.factor, false, HC_FP16, true, clips},
        {"gradient-fp16-scaled",
         "the scaled gradients were rounded to fp16",
         1,
         {right.factor.value / scale, right.factor.slack},
         false,
         HC_FP16,
         false,
         scales},
        {"gradient-zero", "the gradients were taken as 0", HUGE_VAL, none, false, no, false, true},
    };
    memcpy(ways, all, sizeof all);
}

void hc_step_explain_unscaling(struct hc_step *step, struct hc_step_causes *causes)
{
    struct way ways[WAYS];
    list_ways(step, ways);
    causes->tried = true;
    for (int p = 0; p < step->parameters; p++) {
        struct hc_tensor g = hc_step_parameter(step, p, "unscaled.");
        causes->elements += g.data ? hc_tensor_count(&g) : 0;
    }
    for (int i = 0; i < WAYS; i++) {
        struct hc_step_verdict v = {0};
        bool known =
            causes->count > 0 && strcmp(causes->cause[causes->count - 1].name, ways[i].name) == 0;
        causes->changes += ways[i].tried && !known;
        if (ways[i].tried && !known && one_factor(step, &ways[i], &v))
            (void)hc_step_add_cause(causes, ways[i].name, ways[i].text);
    }
}

struct hc_step_factor hc_step_clip_factor(struct hc_step *step)
{
    return right_way(step).factor;
}

static void judge_gradients(struct hc_step_session *session)
{
    struct hc_step *step = session->step;
    bool clips = hc_step_number(step, "clip", 0) > 0;
    const struct way way = right_way(step);
    const struct hc_recipe *recipe = hc_step_recipe(step);
    /* A file that has only one of the two claims nothing. */
    if (!step->plan.network && (!hc_step_parameter(step, 0, "gradients.").data ||
                                !hc_step_parameter(step, 0, "unscaled.").data))
        return;
    struct hc_step_verdict *v = hc_step_add_verdict(
        session, unscale_stage, clips ? "unscaled, clipped" : "unscaled", "all");
    if (!v)
        return;
    if (on_found(step) == HC_FOUND_STEPS && overflowed(step)) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note,
                       "after an overflow the optimizer gets old gradients");
        return;
    }
    if (recipe && recipe->clip_groups) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note, "each group of parameters is clipped by itself");
        return;
    }
    bool right = one_factor(step, &way, v);
    v->elements = v->checked;
    v->judgement = v->checked == 0 ? HC_STEP_NOT_JUDGED : right ? HC_STEP_RIGHT : HC_STEP_WRONG;
    if (v->checked == 0)
        (void)snprintf(v->note, sizeof v->note, "the file lacks gradients, or unscaled ones");
    struct hc_tensor first = hc_step_parameter(step, 0, "unscaled.");
    (void)snprintf(v->format, sizeof v->format, "%s", hc_formats[first.format].name);
}

static void judge_found(struct hc_step_session *session)
{
    struct hc_step *step = session->step;
    if (!hc_tensor_file_find(&step->file, "found_inf"))
        return;
    struct hc_step_verdict *v =
        hc_step_add_verdict(session, unscale_stage, "overflow seen", "found_inf");
    if (!v)
        return;
    v->want = overflowed(step);
    v->got = hc_step_scalar(step, "found_inf", 0) != 0;
    v->elements = v->checked = 1;
    v->judgement = v->want == v->got ? HC_STEP_RIGHT : HC_STEP_WRONG;
    if (v->want != v->got)
        (void)snprintf(v->note, sizeof v->note, "%s gradient is infinite or NaN",
                       v->want != 0 ? "a" : "no");
}

void hc_step_judge_unscale(struct hc_step_session *session)
{
    judge_found(session);
    if (session->step->status == HC_OK && !hc_step_left_out(session))
        judge_gradients(session);
}

/* The scale of the next step, by the rule of the file's scaler. */

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

void hc_step_judge_scale(struct hc_step_session *session)
{
    struct hc_step *step = session->step;
    struct hc_scaler scaler = scaler_of(step);
    if (!hc_tensor_file_find(&step->file, "after.scale") || scaler.rule == HC_SCALER_NONE ||
        step->status != HC_OK)
        return;
    struct hc_step_verdict *v = hc_step_add_verdict(session, "scale", "of the next step", "scale");
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
