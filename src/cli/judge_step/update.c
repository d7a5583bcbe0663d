/* The claims about the optimizer's step: its state and the weights, and the model's copies of
   masters. */
#include <stdio.h>
#include <string.h>

#include "cli/judge_step/claim.h"
#include "cli/judge_step/contract.h"
#include "cli/judge_step/passes.h"

static const char update_stage[] = "update";

/* The call of a parameter under the contract: absent tensors have no data. */
static struct hc_call call_of(const struct hc_step_contract *c, const struct hc_step_state *state,
                              double hyper[HC_HYPER_COUNT])
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(c->op);
    struct hc_call call = {.op = c->op};
    double decay = hc_step_decay_of(c, state);
    hyper[HC_HYPER_LR] = hc_step_rate(c, state);
    hyper[HC_HYPER_BETA1] = c->beta1;
    hyper[HC_HYPER_STEP] = c->step;
    call.in[s->w] = call.out[s->new_w] = state->w;
    call.in[s->g] = state->g;
    if (state->compensation.data)
        call.in[s->compensation] = call.out[s->new_compensation] = state->compensation;
    call.in[s->m] = call.out[s->new_m] = state->m;
    if (s->v >= 0)
        call.in[s->v] = call.out[s->new_v] = state->v;
    call.in[s->hyper] = hc_tensor1(HC_FP64, HC_HYPER_COUNT, hyper);
    if (c->op == HC_OP_sgd)
        call.params.sgd = (struct hc_sgd){.weight_decay = decay,
                                          .decoupled = c->decay == HC_STEP_DECAY_APART,
                                          .nesterov = c->nesterov,
                                          .rate_inside = c->rate_inside,
                                          .arithmetic = state->work,
                                          .stochastic.on = state->stochastic};
    else
        call.params.adam = (struct hc_adam){.beta2 = c->beta2,
                                            .eps = c->eps,
                                            .weight_decay = decay,
                                            .eps_inside = c->eps_inside,
                                            .order = c->order,
                                            .arithmetic = state->work,
                                            .stochastic.on = state->stochastic};
    return call;
}

/* Its state, then its weight or master. SGD without momentum may keep none. */
static void judge_optimizer(struct hc_step_session *session, const struct hc_step_contract *c,
                            int p)
{
    struct hc_step *step = session->step;
    double hyper[HC_HYPER_COUNT];
    struct hc_step_state state;
    hc_step_state_read(step, c, p, &state);
    struct hc_call call = call_of(c, &state, hyper);
    const struct hc_optimizer_slots *s = hc_optimizer_slots(c->op);
    bool sgd = c->op == HC_OP_sgd;
    const int outs[] = {[HC_STEP_M] = s->new_m, [HC_STEP_V] = s->new_v, [HC_STEP_W] = s->new_w};
    const char *const whats[] = {[HC_STEP_M] = sgd ? "momentum" : "first moment",
                                 [HC_STEP_V] = "second moment",
                                 [HC_STEP_W] = state.master ? "master" : "weight"};
    for (int i = 0; i < HC_STEP_OUTPUTS && step->status == HC_OK; i++) {
        struct hc_step_claim claim = {.stage = update_stage,
                                      .what = whats[i],
                                      .call = call,
                                      .out = outs[i],
                                      .got = state.after[i],
                                      .expected = state.work};
        bool kept_none = sgd && i == HC_STEP_M && c->beta1 == 0 && !claim.got.data;
        if ((sgd && i == HC_STEP_V) || kept_none)
            continue;
        hc_step_name(step, p, claim.where);
        if (claim.got.data && claim.got.format != claim.expected)
            claim.expected = claim.got.format;
        struct hc_step_verdict *v = hc_step_judge(session, &claim);
        if (v && !state.g.data && hc_step_parameter(step, p, "gradients.").data)
            (void)snprintf(
                v->note, sizeof v->note,
                "gradients were clipped, or their scale is no power of two, and the file "
                "lacks unscaled.%.100s, what the optimizer got",
                claim.where);
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
        hc_step_name(session->step, p, claim.where);
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
    hc_step_name(step, p, claim.where);
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
    char why[160];
    struct hc_step_contract c;
    struct hc_step *step = session->step;
    bool left_out = hc_step_left_out(session);
    if (!hc_step_contract_read(step, &c, why)) {
        struct hc_step_verdict *v = hc_step_add_verdict(session, update_stage, "optimizer", "all");
        if (!v)
            return;
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note, "%s", why);
        return;
    }
    for (int p = 0; p < step->parameters && step->status == HC_OK; p++) {
        if (left_out)
            judge_kept(session, p);
        else
            judge_optimizer(session, &c, p);
        if (step->status == HC_OK && !left_out)
            judge_copy(session, p);
    }
}
