/* From the gradients of the scaled loss to those that the optimizer gets: divided by the scale, and
   clipped to a norm. */
#include <math.h>
#include <stdio.h>

#include "check/check.h"
#include "cli/judge_step/passes.h"
#include "num/ulp.h"
#include "train/update/scaler.h"

static const char stage[] = "unscale";

/* What is known of the factor of clipping: the real one, and how far a right one may lie from it,
   relatively. */
struct factor {
    double value;
    double slack;
};

static bool holds_overflow(const struct hc_tensor *t)
{
    for (int64_t i = 0; t->data && i < hc_tensor_count(t); i++)
        if (!isfinite(hc_tensor_get(t, i)))
            return true;
    return false;
}

static bool overflowed(struct hc_step *step)
{
    for (int p = 0; p < step->plan.parameters; p++) {
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

bool hc_step_left_out(struct hc_step_court *court)
{
    return hc_tensor_file_find(&court->step->file, "found_inf") &&
           on_found(court->step) == HC_FOUND_SKIPS && overflowed(court->step);
}

/* sqrt(sum g^2) over all gradients, divided by the scale, in fp64: n squares and sums are off by at
   most n 2^-53 of it, which for all that fits in memory is far below what fp32 may lose. Whoever
   sums the n squares in fp32 in any order is off by at most n u of the sum, and by half as much of
   its root; the root, 1e-6, the division and the product with max_norm are four roundings more. */
static struct factor clipping(struct hc_step *step, double scale, double max_norm)
{
    double squares = 0;
    double n = 0;
    for (int p = 0; p < step->plan.parameters; p++) {
        struct hc_tensor g = hc_step_parameter(step, p, "gradients.");
        for (int64_t i = 0; g.data && i < hc_tensor_count(&g); i++, n++) {
            double x = hc_tensor_get(&g, i) / scale;
            squares += x * x;
        }
    }
    double u = hc_format_unit(HC_FP32);
    double value = max_norm / (sqrt(squares) + 1e-6);
    if (!(max_norm > 0))
        return (struct factor){1, 0};
    return (struct factor){fmin(value, 1), expm1(n * u / 2 + 4 * u)};
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

/* Whether one factor in the interval makes all optimizer's gradients out of the model's, each
   divided by `scale`; the first that it does not make stays in *v. If they were multiplied by the
   factor before (`early`), they were rounded into the model's format after it. */
static bool one_factor(struct hc_step *step, double scale, double interval[2], bool early,
                       struct hc_step_verdict *v)
{
    for (int p = 0; p < step->plan.parameters; p++) {
        struct hc_tensor g = hc_step_parameter(step, p, "gradients.");
        struct hc_tensor got = hc_step_parameter(step, p, "unscaled.");
        for (int64_t i = 0; g.data && got.data && i < hc_tensor_count(&g); i++) {
            double before[2] = {interval[0], interval[1]};
            double real = hc_tensor_get(&g, i) / scale;
            double is = hc_tensor_get(&got, i);
            double more = early ? hc_ulp(g.format, is * scale) / 2 / scale : 0;
            v->checked++;
            if (narrow(interval, real, is, got.format, more))
                continue;
            v->wrong = 1;
            v->want = real * (before[0] + before[1]) / 2;
            v->got = is;
            v->error = fabs(is - v->want);
            v->bound = fabs(real) * (before[1] - before[0]) / 2 + hc_ulp(got.format, is) / 2;
            v->ratio = hc_ratio(v->error, v->bound);
            v->ulps = v->error / hc_ulp(got.format, v->want);
            hc_torch_parameter(&step->plan, p, v->where);
            return false;
        }
    }
    v->ratio = 0;
    return true;
}

static bool would_fit(struct hc_step *step, double scale, struct factor f, bool early)
{
    struct hc_step_verdict v = {0};
    double interval[2] = {f.value * (1 - f.slack), f.value * (1 + f.slack)};
    return one_factor(step, scale, interval, early, &v);
}

/* What was done instead. */
static const char *instead(struct hc_step *step, double scale, double max_norm)
{
    struct factor none = {1, 0};
    struct factor scaled = clipping(step, 1, max_norm);
    if (scale != 1 && would_fit(step, 1, none, false))
        return "the gradients were not divided by the scale";
    if (scale != 1 && max_norm > 0 && would_fit(step, scale, scaled, true))
        return "the gradients were clipped before they were divided by the scale";
    if (scale != 1 && max_norm > 0 && would_fit(step, 1, scaled, true))
        return "the gradients were clipped, but not divided by the scale";
    if (max_norm > 0 && would_fit(step, scale, none, false))
        return "the gradients were not clipped";
    if (scale != 1 && would_fit(step, scale * scale, none, false))
        return "the gradients were divided by the scale twice";
    if (would_fit(step, 1 / scale, none, false) && scale != 1)
        return "the gradients were multiplied by the scale";
    return "";
}

static void judge_gradients(struct hc_step_court *court)
{
    struct hc_step *step = court->step;
    double scale = hc_step_scalar(step, "scale", 1);
    double max_norm = hc_step_number(step, "clip", 0);
    struct factor f = clipping(step, scale, max_norm);
    double interval[2] = {f.value * (1 - f.slack), f.value * (1 + f.slack)};
    struct hc_step_verdict *v =
        hc_step_add_verdict(court, stage, max_norm > 0 ? "unscaled, clipped" : "unscaled", "all");
    if (!v)
        return;
    if (on_found(step) == HC_FOUND_STEPS && overflowed(step)) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note,
                       "after an overflow the optimizer gets old gradients");
        return;
    }
    const struct hc_recipe *recipe = hc_step_recipe(step);
    if (recipe && recipe->clip_groups) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note, "each group of parameters is clipped by itself");
        return;
    }
    bool right = one_factor(step, scale, interval, false, v);
    v->elements = v->checked;
    v->judgement = v->checked == 0 ? HC_STEP_NOT_JUDGED : right ? HC_STEP_RIGHT : HC_STEP_WRONG;
    if (v->checked == 0)
        (void)snprintf(v->note, sizeof v->note, "the file lacks gradients, or unscaled ones");
    else if (!right)
        (void)snprintf(v->note, sizeof v->note, "%s", instead(step, scale, max_norm));
    struct hc_tensor first = hc_step_parameter(step, 0, "unscaled.");
    (void)snprintf(v->format, sizeof v->format, "%s", hc_formats[first.format].name);
}

static void judge_found(struct hc_step_court *court)
{
    struct hc_step *step = court->step;
    if (!hc_tensor_file_find(&step->file, "found_inf"))
        return;
    struct hc_step_verdict *v = hc_step_add_verdict(court, stage, "overflow seen", "found_inf");
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

void hc_step_judge_unscale(struct hc_step_court *court)
{
    judge_found(court);
    if (court->step->status == HC_OK && !hc_step_left_out(court))
        judge_gradients(court);
}
