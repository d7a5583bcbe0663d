/* The claims about what comes after the backward pass: unscaling and clipping, the optimizer's
   state and the weights, the model's copies of the weights, and the scale of the next step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "cli/judge_step/claim.h"
#include "cli/judge_step/passes.h"
#include "num/ulp.h"
#include "train/update/scaler.h"

struct step_optimizer {
    enum hc_op op;
    double hyper[HC_HYPER_COUNT];
    bool decay_norm;
    struct hc_call call; /* parameters, and hyper in `in` */
};

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

/* From the gradients of the scaled loss to those that the optimizer gets: divided by the scale, and
   clipped to a norm. */

static const char unscale_stage[] = "unscale";

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

/* Whether the step was to be left out: a gradient is infinite or NaN, and there is a scaler. */
static bool step_left_out(struct hc_step_session *session)
{
    return hc_tensor_file_find(&session->step->file, "found_inf") &&
           on_found(session->step) == HC_FOUND_SKIPS && overflowed(session->step);
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

static void judge_gradients(struct hc_step_session *session)
{
    struct hc_step *step = session->step;
    double scale = hc_step_scalar(step, "scale", 1);
    double max_norm = hc_step_number(step, "clip", 0);
    struct factor f = clipping(step, scale, max_norm);
    double interval[2] = {f.value * (1 - f.slack), f.value * (1 + f.slack)};
    struct hc_step_verdict *v = hc_step_add_verdict(
        session, unscale_stage, max_norm > 0 ? "unscaled, clipped" : "unscaled", "all");
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
    if (session->step->status == HC_OK && !step_left_out(session))
        judge_gradients(session);
}

/* The optimizer of a step, as the metadata of its file say it, and mistakes made with it. */

static enum hc_adam_order order(const struct hc_step *step)
{
    const char *name = hc_tensor_file_metadata(&step->file, "order");
    for (int i = 0; name && i < HC_ORDER_COUNT; i++)
        if (strcmp(hc_adam_order_names[i], name) == 0)
            return (enum hc_adam_order)i;
    return HC_ORDER_OURS;
}

/* False if the file does not say which optimizer it was. */
static bool step_optimizer_read(struct hc_step *step, struct step_optimizer *o)
{
    const char *name = hc_tensor_file_metadata(&step->file, "optimizer");
    const char *decay = hc_tensor_file_metadata(&step->file, "decay");
    *o = (struct step_optimizer){.op = name ? hc_op_by_name(name) : (enum hc_op)HC_OP_COUNT};
    if (o->op != HC_OP_adamw && o->op != HC_OP_adam && o->op != HC_OP_sgd)
        return false;
    bool decoupled = decay ? strcmp(decay, "decoupled") == 0 : o->op == HC_OP_adamw;
    if (decay && strcmp(decay, "decoupled") != 0 && strcmp(decay, "l2") != 0)
        return false;
    if (o->op != HC_OP_sgd)
        o->op = decoupled ? HC_OP_adamw : HC_OP_adam;
    o->hyper[HC_HYPER_LR] = hc_step_number(step, "lr", 0);
    o->hyper[HC_HYPER_BETA1] = hc_step_number(step, "beta1", 0);
    /* halfcheck's optimizers take both as fp32. */
    for (int i = 0; hc_step_is_own(step) && i < HC_HYPER_STEP; i++)
        o->hyper[i] = hc_round(HC_FP32, o->hyper[i]);
    o->hyper[HC_HYPER_STEP] = hc_step_scalar(step, "optimizer.step", 0) + 1;
    o->decay_norm = !hc_step_metadata_is(step, "decay_norm", "0");
    const struct hc_recipe *recipe = hc_step_recipe(step);
    double weight_decay = hc_step_number(step, "weight_decay", 0);
    o->call.op = o->op;
    if (o->op == HC_OP_sgd)
        o->call.params.sgd = (struct hc_sgd){.weight_decay = weight_decay,
                                             .decoupled = decoupled,
                                             .nesterov = hc_step_metadata_is(step, "nesterov", "1"),
                                             .rate_inside = recipe && recipe->rate_inside};
    else
        o->call.params.adam =
            (struct hc_adam){.beta2 = hc_step_number(step, "beta2", 0),
                             .eps = hc_step_number(step, "eps", 0),
                             .weight_decay = weight_decay,
                             .eps_inside = hc_step_metadata_is(step, "eps_inside", "1"),
                             .order = order(step)};
    return true;
}

/* The weight decay of an optimizer's call. */
static double *step_weight_decay(struct hc_call *call)
{
    return call->op == HC_OP_sgd ? &call->params.sgd.weight_decay : &call->params.adam.weight_decay;
}

static void eps_inside(struct hc_call *call)
{
    if (call->op != HC_OP_sgd)
        call->params.adam.eps_inside = !call->params.adam.eps_inside;
}

static void other_decay(struct hc_call *call)
{
    if (call->op == HC_OP_sgd)
        call->params.sgd.decoupled = !call->params.sgd.decoupled;
    else
        call->op = call->op == HC_OP_adam ? HC_OP_adamw : HC_OP_adam;
}

static void no_decay(struct hc_call *call)
{
    *step_weight_decay(call) = 0;
}

static void other_nesterov(struct hc_call *call)
{
    if (call->op == HC_OP_sgd)
        call->params.sgd.nesterov = !call->params.sgd.nesterov;
}

static void later(struct hc_call *call)
{
    ((double *)call->in[hc_optimizer_slots(call->op)->hyper].data)[HC_HYPER_STEP]++;
}

static void earlier(struct hc_call *call)
{
    ((double *)call->in[hc_optimizer_slots(call->op)->hyper].data)[HC_HYPER_STEP]--;
}

/* What may have been done instead; each is tried alone. */
static const struct {
    void (*change)(struct hc_call *call);
    const char *note;
} mistakes[] = {
    {eps_inside, "eps stands under the root, or not, other than the file says"},
    {other_decay,
     "the decay is coupled with the gradient where it is to be apart, or the other way"},
    {no_decay, "there is no weight decay"},
    {other_nesterov, "Nesterov's momentum is used, or not, other than the file says"},
    {later, "the bias correction counts a step too many"},
    {earlier, "the bias correction counts a step too few"},
};

/* Writes into `note` which mistake explains what was got, if one of those that are tried does. */
static void step_optimizer_explain(struct hc_step_session *session,
                                   const struct hc_step_claim *claim, char *note, size_t size)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(claim->call.op);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        double hyper[HC_HYPER_COUNT];
        struct hc_step_claim other = *claim;
        memcpy(hyper, claim->call.in[s->hyper].data, sizeof hyper);
        other.call.in[s->hyper].data = hyper;
        mistakes[i].change(&other.call);
        if (hyper[HC_HYPER_STEP] >= 1 && hc_step_fits(session, &other)) {
            (void)snprintf(note, size, "%s", mistakes[i].note);
            return;
        }
    }
}

static const char update_stage[] = "update";

/* The tensors of the optimizer's state that a claim is about: how the file calls them. */
struct moment {
    int in;
    int out;
    const char *before;
    const char *after;
    const char *what;
};

/* In the order in which they are judged; ended by a row without names. */
static void list_moments(enum hc_op op, struct moment rows[3])
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(op);
    if (op == HC_OP_sgd) {
        rows[0] = (struct moment){s->m, s->new_m, "optimizer.momentum_buffer.",
                                  "after.optimizer.momentum_buffer.", "momentum"};
        rows[1] = (struct moment){0};
        return;
    }
    rows[0] = (struct moment){s->m, s->new_m, "optimizer.exp_avg.", "after.optimizer.exp_avg.",
                              "first moment"};
    rows[1] = (struct moment){s->v, s->new_v, "optimizer.exp_avg_sq.",
                              "after.optimizer.exp_avg_sq.", "second moment"};
    rows[2] = (struct moment){0};
}

static bool is_norm_or_bias(const struct hc_plan *plan, int p)
{
    int l = 0;
    while (plan->layer[l].parameter < 0 ||
           p >= plan->layer[l].parameter + plan->layer[l].parameters)
        l++;
    return p != plan->layer[l].parameter;
}

static enum hc_format arithmetic(const struct hc_step *step, enum hc_format weight)
{
    const char *name = hc_tensor_file_metadata(&step->file, "arithmetic");
    enum hc_format f = name ? hc_format_by_name(name) : HC_FORMAT_COUNT;
    if (weight == HC_FP64 || weight == HC_FP32)
        return weight;
    return f == HC_FP16 || f == HC_BF16 ? f : HC_FP32;
}

/* The call of parameter p: absent tensors have no data. */
static struct hc_call call_of(struct hc_step_session *session, struct step_optimizer *o, int p,
                              const struct moment *rows, bool master)
{
    struct hc_step *step = session->step;
    struct hc_call call = o->call;
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call.op);
    struct hc_tensor w = hc_step_parameter(step, p, master ? "masters." : "weights.");
    call.in[s->w] = call.out[s->new_w] = w;
    call.in[s->g] = hc_step_parameter(step, p, "unscaled.");
    struct hc_tensor compensation = hc_step_parameter(step, p, "optimizer.compensation.");
    if (compensation.data)
        call.in[s->compensation] = call.out[s->new_compensation] = compensation;
    for (; rows->before; rows++)
        call.in[rows->in] = call.out[rows->out] = hc_step_parameter(step, p, rows->before);
    call.in[s->hyper] = hc_tensor1(HC_FP64, HC_HYPER_COUNT, o->hyper);
    if (!o->decay_norm && is_norm_or_bias(&step->plan, p))
        *step_weight_decay(&call) = 0;
    *hc_optimizer_arithmetic(call.op, &call.params) = arithmetic(step, w.format);
    /* Which neighbour a weight is rounded to depends on random bits: either is right. */
    const struct hc_recipe *recipe = hc_step_recipe(step);
    bool stochastic = recipe && recipe->stochastic && w.format == HC_BF16;
    if (call.op == HC_OP_sgd)
        call.params.sgd.stochastic.on = stochastic;
    else
        call.params.adam.stochastic.on = stochastic;
    return call;
}

static void judge_optimizer(struct hc_step_session *session, struct step_optimizer *o, int p)
{
    struct hc_step *step = session->step;
    struct moment rows[3];
    struct hc_tensor master = hc_step_parameter(step, p, "masters.");
    list_moments(o->op, rows);
    struct hc_call call = call_of(session, o, p, rows, master.data != NULL);
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call.op);
    for (int i = 0;; i++) {
        bool weight = !rows[i].before;
        struct hc_step_claim claim = {.stage = update_stage,
                                      .what = weight ? "weight" : rows[i].what,
                                      .call = call,
                                      .out = weight ? s->new_w : rows[i].out};
        hc_torch_parameter(&step->plan, p, claim.where);
        if (weight && master.data)
            claim.what = "master";
        claim.got = hc_step_parameter(step, p,
                                      !weight       ? rows[i].after
                                      : master.data ? "after.masters."
                                                    : "after.weights.");
        claim.expected = *hc_optimizer_arithmetic(call.op, &call.params);
        if (claim.got.data && claim.got.format != claim.expected)
            claim.expected = claim.got.format;
        struct hc_step_verdict *v = hc_step_judge(session, &claim);
        if (v && v->judgement == HC_STEP_WRONG && !v->note[0])
            step_optimizer_explain(session, &claim, v->note, sizeof v->note);
        if (weight || step->status != HC_OK)
            return;
    }
}

/* Nothing changes in a step that is left out. */
static void judge_kept(struct hc_step_session *session, int p)
{
    static const struct {
        const char *before;
        const char *after;
        const char *what;
    } rows[] = {
        {"masters.", "after.masters.", "master, step left out"},
        {"weights.", "after.weights.", "weight, step left out"},
        {"optimizer.exp_avg.", "after.optimizer.exp_avg.", "first moment, step left out"},
        {"optimizer.exp_avg_sq.", "after.optimizer.exp_avg_sq.", "second moment, step left out"},
        {"optimizer.momentum_buffer.", "after.optimizer.momentum_buffer.",
         "momentum, step left out"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_step_claim claim = {.stage = update_stage, .what = rows[i].what};
        struct hc_tensor before = hc_step_parameter(session->step, p, rows[i].before);
        claim.got = hc_step_parameter(session->step, p, rows[i].after);
        if (!before.data || !claim.got.data || session->step->status != HC_OK)
            continue;
        hc_torch_parameter(&session->step->plan, p, claim.where);
        claim.call = (struct hc_call){
            .op = HC_OP_cast, .in = {[HC_X] = before}, .out = {[HC_OUT] = claim.got}};
        claim.expected = claim.got.format;
        (void)hc_step_judge(session, &claim);
    }
}

static void judge_copy(struct hc_step_session *session, int p)
{
    struct hc_step *step = session->step;
    struct hc_step_claim claim = {.stage = update_stage, .what = "copy of the master"};
    struct hc_tensor master = hc_step_parameter(step, p, "after.masters.");
    struct hc_tensor old = hc_step_parameter(step, p, "weights.");
    claim.got = hc_step_parameter(step, p, "after.weights.");
    if (!master.data || !claim.got.data)
        return;
    hc_torch_parameter(&step->plan, p, claim.where);
    claim.call =
        (struct hc_call){.op = HC_OP_cast, .in = {[HC_X] = master}, .out = {[HC_OUT] = claim.got}};
    claim.expected = claim.got.format;
    struct hc_step_verdict *v = hc_step_judge(session, &claim);
    if (!v || v->judgement != HC_STEP_WRONG || !old.data)
        return;
    if (old.format == claim.got.format &&
        memcmp(old.data, claim.got.data, hc_tensor_bytes(&old)) == 0)
        (void)snprintf(v->note, sizeof v->note, "the model still has its old copy");
}

void hc_step_judge_update(struct hc_step_session *session)
{
    struct step_optimizer o;
    struct hc_step *step = session->step;
    bool left_out = step_left_out(session);
    if (!step_optimizer_read(step, &o)) {
        struct hc_step_verdict *v = hc_step_add_verdict(session, update_stage, "optimizer", "all");
        if (!v)
            return;
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note,
                       "the file does not say which optimizer it was, or how it decays");
        return;
    }
    for (int p = 0; p < step->plan.parameters && step->status == HC_OK; p++) {
        if (left_out)
            judge_kept(session, p);
        else
            judge_optimizer(session, &o, p);
        if (step->status == HC_OK && !left_out)
            judge_copy(session, p);
    }
}
