/* The update: the optimizer's state and the weights from the gradients that it got; the model's
   copies of the weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge_step/passes.h"
#include "cli/judge_step/step_optimizer.h"

static const char stage[] = "update";

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
static struct hc_call call_of(struct hc_step_court *court, struct hc_step_optimizer *o, int p,
                              const struct moment *rows, bool master)
{
    struct hc_step *step = court->step;
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
        *hc_step_weight_decay(&call) = 0;
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

static void judge_optimizer(struct hc_step_court *court, struct hc_step_optimizer *o, int p)
{
    struct hc_step *step = court->step;
    struct moment rows[3];
    struct hc_tensor master = hc_step_parameter(step, p, "masters.");
    list_moments(o->op, rows);
    struct hc_call call = call_of(court, o, p, rows, master.data != NULL);
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call.op);
    for (int i = 0;; i++) {
        bool weight = !rows[i].before;
        struct hc_step_claim claim = {.stage = stage,
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
        struct hc_step_verdict *v = hc_step_judge(court, &claim);
        if (v && v->judgement == HC_STEP_WRONG && !v->note[0])
            hc_step_optimizer_explain(court, &claim, v->note, sizeof v->note);
        if (weight || step->status != HC_OK)
            return;
    }
}

/* Nothing changes in a step that is left out. */
static void judge_kept(struct hc_step_court *court, int p)
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
        struct hc_step_claim claim = {.stage = stage, .what = rows[i].what};
        struct hc_tensor before = hc_step_parameter(court->step, p, rows[i].before);
        claim.got = hc_step_parameter(court->step, p, rows[i].after);
        if (!before.data || !claim.got.data || court->step->status != HC_OK)
            continue;
        hc_torch_parameter(&court->step->plan, p, claim.where);
        claim.call = (struct hc_call){
            .op = HC_OP_cast, .in = {[HC_X] = before}, .out = {[HC_OUT] = claim.got}};
        claim.expected = claim.got.format;
        (void)hc_step_judge(court, &claim);
    }
}

static void judge_copy(struct hc_step_court *court, int p)
{
    struct hc_step *step = court->step;
    struct hc_step_claim claim = {.stage = stage, .what = "copy of the master"};
    struct hc_tensor master = hc_step_parameter(step, p, "after.masters.");
    struct hc_tensor old = hc_step_parameter(step, p, "weights.");
    claim.got = hc_step_parameter(step, p, "after.weights.");
    if (!master.data || !claim.got.data)
        return;
    hc_torch_parameter(&step->plan, p, claim.where);
    claim.call =
        (struct hc_call){.op = HC_OP_cast, .in = {[HC_X] = master}, .out = {[HC_OUT] = claim.got}};
    claim.expected = claim.got.format;
    struct hc_step_verdict *v = hc_step_judge(court, &claim);
    if (!v || v->judgement != HC_STEP_WRONG || !old.data)
        return;
    if (old.format == claim.got.format &&
        memcmp(old.data, claim.got.data, hc_tensor_bytes(&old)) == 0)
        (void)snprintf(v->note, sizeof v->note, "the model still has its old copy");
}

void hc_step_judge_update(struct hc_step_court *court)
{
    struct hc_step_optimizer o;
    struct hc_step *step = court->step;
    bool left_out = hc_step_left_out(court);
    if (!hc_step_optimizer_read(step, &o)) {
        struct hc_step_verdict *v = hc_step_add_verdict(court, stage, "optimizer", "all");
        if (!v)
            return;
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note,
                       "the file does not say which optimizer it was, or how it decays");
        return;
    }
    for (int p = 0; p < step->plan.parameters && step->status == HC_OK; p++) {
        if (left_out)
            judge_kept(court, p);
        else
            judge_optimizer(court, &o, p);
        if (step->status == HC_OK && !left_out)
            judge_copy(court, p);
    }
}
