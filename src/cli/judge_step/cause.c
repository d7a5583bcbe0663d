#include "cli/judge_step/cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge_step/claim.h"
#include "cli/judge_step/passes.h"

struct hc_step_cause *hc_step_add_cause(struct hc_step_causes *causes, const char *name,
                                        const char *text)
{
    if (causes->count == HC_STEP_MAX_CAUSES)
        return NULL;
    struct hc_step_cause *cause = &causes->cause[causes->count++];
    *cause = (struct hc_step_cause){.name = name};
    (void)snprintf(cause->text, sizeof cause->text, "%s", text);
    return cause;
}

/* The optimizer's numbers. */

bool hc_step_promises_nothing(const struct hc_step_subject *subject, int p, int out, int64_t i)
{
    struct hc_ball balls[HC_STEP_OUTPUTS];
    if (!subject->unpromised)
        return false;
    hc_step_contract_element(&subject->stated, &subject->states[p], i, balls);
    return isinf(balls[out].rad);
}

/* Every output that the file has of every element of a parameter; stops at the first that does not
   fit. */
static bool explains_parameter(const struct hc_step_subject *subject, int p,
                               const struct hc_step_contract *c)
{
    const struct hc_step_state *s = &subject->states[p];
    int64_t n = hc_tensor_count(&s->w);
    for (int64_t i = 0; i < n; i++) {
        struct hc_ball balls[HC_STEP_OUTPUTS];
        hc_step_contract_element(c, s, i, balls);
        for (int out = 0; out < HC_STEP_OUTPUTS; out++)
            if (s->after[out].data && hc_step_side(s, out, i, balls[out]) != 0 &&
                !hc_step_promises_nothing(subject, p, out, i))
                return false;
    }
    return true;
}

bool hc_step_explains(const struct hc_step_subject *subject, const struct hc_step_contract *c)
{
    struct hc_ball balls[HC_STEP_OUTPUTS];
    for (int out = 0; out < HC_STEP_OUTPUTS; out++)
        for (int k = 0; k < subject->spots[out]; k++) {
            const struct hc_step_spot *spot = &subject->spot[out][k];
            const struct hc_step_state *s = &subject->states[spot->parameter];
            hc_step_contract_element(c, s, spot->index, balls);
            if (hc_step_side(s, out, spot->index, balls[out]) != 0)
                return false;
        }
    for (int p = 0; p < subject->parameters; p++)
        if (!subject->passed_over[p] && !explains_parameter(subject, p, c))
            return false;
    return true;
}

static bool is_adam(const struct hc_step_contract *c)
{
    return c->op != HC_OP_sgd;
}

/* The changes. Each makes one, or returns false where it is none: where the contract is like that
   already, or has nothing of the kind. */

static bool round_to_bf16(struct hc_step_contract *c)
{
    c->gradient_format = HC_BF16;
    return true;
}

static bool round_to_fp16(struct hc_step_contract *c)
{
    c->gradient_format = HC_FP16;
    return true;
}

static bool correct_nothing(struct hc_step_contract *c)
{
    c->uncorrected_m = c->uncorrected_v = true;
    return is_adam(c);
}

static bool correct_v_alone(struct hc_step_contract *c)
{
    c->uncorrected_m = true;
    return is_adam(c);
}

static bool correct_m_alone(struct hc_step_contract *c)
{
    c->uncorrected_v = true;
    return is_adam(c);
}

static bool count_more(struct hc_step_contract *c)
{
    c->step++;
    return is_adam(c);
}

static bool count_less(struct hc_step_contract *c)
{
    c->step--;
    return is_adam(c) && c->step >= 1;
}

static bool count_anew(struct hc_step_contract *c)
{
    bool later = c->step > 2; /* at 2 it is count_less */
    c->step = 1;
    return is_adam(c) && later;
}

static bool eps_inside(struct hc_step_contract *c)
{
    c->eps_inside = !c->eps_inside;
    return is_adam(c) && c->eps_inside;
}

static bool eps_outside(struct hc_step_contract *c)
{
    c->eps_inside = !c->eps_inside;
    return is_adam(c) && !c->eps_inside;
}

static bool exchange_betas(struct hc_step_contract *c)
{
    double beta1 = c->beta1;
    c->beta1 = c->beta2;
    c->beta2 = beta1;
    return is_adam(c);
}

static bool decay(struct hc_step_contract *c, enum hc_step_decay place)
{
    bool other = c->decay != place;
    c->decay = place;
    return other;
}

static bool couple(struct hc_step_contract *c)
{
    return decay(c, HC_STEP_DECAY_COUPLED);
}

static bool decouple(struct hc_step_contract *c)
{
    return decay(c, HC_STEP_DECAY_APART);
}

static bool decay_in_both(struct hc_step_contract *c)
{
    return decay(c, HC_STEP_DECAY_BOTH);
}

static bool decay_after(struct hc_step_contract *c)
{
    return c->decay == HC_STEP_DECAY_APART && decay(c, HC_STEP_DECAY_AFTER);
}

static bool decay_norms(struct hc_step_contract *c)
{
    c->decay_norm = !c->decay_norm;
    return c->decay_norm;
}

static bool spare_norms(struct hc_step_contract *c)
{
    c->decay_norm = !c->decay_norm;
    return !c->decay_norm;
}

static bool use_nesterov(struct hc_step_contract *c)
{
    c->nesterov = !c->nesterov;
    return !is_adam(c) && c->nesterov;
}

static bool forget_nesterov(struct hc_step_contract *c)
{
    c->nesterov = !c->nesterov;
    return !is_adam(c) && !c->nesterov;
}

static bool begin_with_model(struct hc_step_contract *c)
{
    c->from_model = true;
    return true;
}

static bool begin_with_nothing(struct hc_step_contract *c)
{
    c->from_nothing = true;
    return true;
}

static bool leave_out(struct hc_step_contract *c)
{
    c->left_out = true;
    return true;
}

static bool weights_through_bf16(struct hc_step_contract *c)
{
    c->weight_format = HC_BF16;
    return true;
}

static bool weights_through_fp16(struct hc_step_contract *c)
{
    c->weight_format = HC_FP16;
    return true;
}

static bool round_decayed(struct hc_step_contract *c)
{
    c->decayed_format = true;
    return c->decay == HC_STEP_DECAY_APART;
}

static const struct {
    const char *name;
    bool (*make)(struct hc_step_contract *c);
    const char *text;
} changes[] = {
    {"gradient-bf16", round_to_bf16, "the gradients are rounded to bf16 before the update"},
    {"gradient-fp16", round_to_fp16, "the gradients are rounded to fp16 before the update"},
    {"no-correction", correct_nothing, "there is no bias correction"},
    {"no-correction-m", correct_v_alone, "the first moment has no bias correction"},
    {"no-correction-v", correct_m_alone, "the second moment has no bias correction"},
    {"step-later", count_more, "the bias correction counts a step too many"},
    {"step-earlier", count_less, "the bias correction counts a step too few"},
    {"step-anew", count_anew, "the bias correction counts this step as the first"},
    {"eps-inside", eps_inside, "eps stands under the root"},
    {"eps-outside", eps_outside, "eps stands outside of the root"},
    {"betas-exchanged", exchange_betas, "beta1 and beta2 are exchanged"},
    {"decay-coupled", couple, "weight decay is added to the gradient (L2), not decoupled"},
    {"decay-decoupled", decouple, "weight decay is decoupled, not added to the gradient (L2)"},
    {"decay-both", decay_in_both, "weight decay is applied twice: decoupled, and in the gradient"},
    {"decay-after", decay_after, "weight decay is applied after the update, not before it"},
    {"decay-norms", decay_norms, "norms and biases decay, too"},
    {"decay-no-norms", spare_norms, "norms and biases do not decay"},
    {"nesterov", use_nesterov, "the momentum is Nesterov's"},
    {"no-nesterov", forget_nesterov, "the momentum is not Nesterov's"},
    {"stale-master", begin_with_model,
     "the step begins with the model's rounded weights, not with the masters"},
    {"state-lost", begin_with_nothing, "the step begins with moments of 0, not with the kept ones"},
    {"left-out", leave_out, "the step is left out: nothing moves"},
    {"weight-bf16", weights_through_bf16,
     "the new weights are rounded twice: to bf16 before they are stored"},
    {"weight-fp16", weights_through_fp16,
     "the new weights are rounded twice: to fp16 before they are stored"},
    {"decayed-rounded", round_decayed,
     "the weights are rounded twice: after their decay, and after the update"},
};

static void try_changes(const struct hc_step_subject *subject, struct hc_step_causes *causes)
{
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct hc_step_contract c = subject->stated;
        if (!changes[i].make(&c))
            continue;
        causes->changes++;
        if (hc_step_explains(subject, &c))
            (void)hc_step_add_cause(causes, changes[i].name, changes[i].text);
    }
}

/* Notes what the stated contract says of a number. */
static void look_at(struct hc_step_subject *subject, int p, int64_t i, int out, struct hc_ball ball)
{
    const struct hc_step_state *s = &subject->states[p];
    int *n = &subject->spots[out];
    if (isinf(ball.rad))
        subject->unpromised = true;
    else if (*n < HC_STEP_MAX_SPOTS && s->after[out].data && hc_step_side(s, out, i, ball) != 0)
        subject->spot[out][(*n)++] = (struct hc_step_spot){p, i};
}

/* Reads the states; false, with the reason, if changes cannot be tried. */
static bool open_subject(struct hc_step_subject *subject, struct hc_step_causes *causes)
{
    static char why[160];
    struct hc_step *step = subject->step;
    if (!hc_step_contract_read(step, &subject->stated, why)) {
        causes->why = why;
        return false;
    }
    for (int p = 0; p < subject->parameters; p++) {
        struct hc_step_state *s = &subject->states[p];
        struct hc_ball balls[HC_STEP_OUTPUTS];
        hc_step_state_read(step, &subject->stated, p, s);
        causes->why =
            s->compensation.data ? "the weights are compensated (Kahan)"
            : !s->w.data || !s->g.data || !s->m.data || (is_adam(&subject->stated) && !s->v.data)
                ? "the file lacks what some weights are made of"
                : NULL;
        if (causes->why)
            return false;
        causes->elements += hc_tensor_count(&s->w);
        for (int64_t i = 0; i < hc_tensor_count(&s->w); i++) {
            hc_step_contract_element(&subject->stated, s, i, balls);
            for (int out = 0; out < HC_STEP_OUTPUTS; out++)
                look_at(subject, p, i, out, balls[out]);
        }
    }
    return true;
}

/* Passes over what is right as it is, where no spot is; false if that is nothing. */
static bool keep_wrong_ones(struct hc_step_subject *subject, struct hc_step_causes *causes)
{
    for (int p = 0; p < subject->parameters; p++) {
        subject->passed_over[p] = explains_parameter(subject, p, &subject->stated);
        causes->parameters -= subject->passed_over[p];
        causes->elements -= subject->passed_over[p] ? hc_tensor_count(&subject->states[p].w) : 0;
    }
    return causes->parameters < causes->of;
}

/* What explains the optimizer's numbers, the model's copies of the masters, and the gradients that
   the optimizer got; each is asked only where claims of it are wrong. */
static void step_explain_update(struct hc_step *step, struct hc_step_causes *causes)
{
    struct hc_step_subject subject = {
        .step = step, .parameters = step->parameters, .clipping = hc_step_clip_factor(step)};
    causes->parameters = causes->of = step->parameters;
    subject.states = calloc((size_t)step->parameters, sizeof *subject.states);
    subject.passed_over = calloc((size_t)step->parameters, sizeof *subject.passed_over);
    if (!subject.states || !subject.passed_over) {
        causes->why = "there is no memory for it";
    } else if (open_subject(&subject, causes)) {
        if (hc_step_explains(&subject, &subject.stated)) {
            causes->why = "the numbers are beyond their bounds by too little to tell";
        } else {
            causes->tried = true;
            try_changes(&subject, causes);
            hc_step_solve(&subject, causes);
            int tried = causes->changes;
            if (causes->count == 0 && keep_wrong_ones(&subject, causes)) {
                try_changes(&subject, causes);
                hc_step_solve(&subject, causes);
                causes->changes = tried;
            }
        }
    }
    free(subject.states);
    free(subject.passed_over);
}

/* The model's copies of the masters. */

enum { COPY_RIGHT };

/* What a copy is made of `before` (the master before the step), or of `after`. */
static double copy_stale(double before, double after, enum hc_format f)
{
    (void)after;
    return hc_round(f, before);
}

static double copy_right(double before, double after, enum hc_format f)
{
    (void)before;
    return hc_round(f, after);
}

static double copy_by_bf16(double before, double after, enum hc_format f)
{
    (void)before;
    return hc_round(f, hc_round(HC_BF16, after));
}

static double copy_by_fp16(double before, double after, enum hc_format f)
{
    (void)before;
    return hc_round(f, hc_round(HC_FP16, after));
}

static double copy_by_fp32(double before, double after, enum hc_format f)
{
    (void)before;
    return hc_round(f, hc_round(HC_FP32, after));
}

static double copy_cut(double before, double after, enum hc_format f)
{
    (void)before;
    return hc_decode(f, hc_encode(f, after, 0, HC_TOWARD_ZERO));
}

static const struct {
    const char *name;
    double (*make)(double before, double after, enum hc_format f);
    const char *text;
} copies[] = {
    [COPY_RIGHT] = {"", copy_right, ""},
    {"stale-copy", copy_stale, "the model still has the copies of the masters before the step"},
    {"copy-bf16", copy_by_bf16, "the copies are rounded twice: to bf16 on the way"},
    {"copy-fp16", copy_by_fp16, "the copies are rounded twice: to fp16 on the way"},
    {"copy-fp32", copy_by_fp32, "the copies are rounded twice: to fp32 on the way"},
    {"copy-cut", copy_cut, "the copies are cut off towards zero, not rounded to nearest"},
};

static bool same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

static bool explains_copy(struct hc_step *step, int p, size_t k)
{
    struct hc_tensor before = hc_step_parameter(step, p, "masters.");
    struct hc_tensor after = hc_step_parameter(step, p, "after.masters.");
    struct hc_tensor copy = hc_step_parameter(step, p, "after.weights.");
    for (int64_t i = 0; after.data && copy.data && i < hc_tensor_count(&copy); i++) {
        double old = before.data ? hc_tensor_get(&before, i) : (double)NAN;
        double made = copies[k].make(old, hc_tensor_get(&after, i), copy.format);
        if (!same(made, hc_tensor_get(&copy, i)))
            return false;
    }
    return true;
}

/* `wrong`: only those parameters whose copies are not right as they are. */
static void try_copies(struct hc_step *step, struct hc_step_causes *causes, bool wrong)
{
    causes->parameters = 0;
    causes->elements = 0;
    for (int p = 0; p < step->parameters; p++)
        if (!(wrong && explains_copy(step, p, COPY_RIGHT))) {
            struct hc_tensor copy = hc_step_parameter(step, p, "after.weights.");
            causes->parameters++;
            causes->elements += copy.data ? hc_tensor_count(&copy) : 0;
        }
    for (size_t k = COPY_RIGHT + 1; k < sizeof copies / sizeof copies[0]; k++) {
        bool explains = true;
        for (int p = 0; p < step->parameters && explains; p++)
            explains = (wrong && explains_copy(step, p, COPY_RIGHT)) || explains_copy(step, p, k);
        if (explains)
            (void)hc_step_add_cause(causes, copies[k].name, copies[k].text);
    }
}

static void step_explain_copies(struct hc_step *step, struct hc_step_causes *causes)
{
    causes->tried = true;
    causes->of = step->parameters;
    causes->changes = (int)(sizeof copies / sizeof copies[0]) - 1;
    try_copies(step, causes, false);
    if (causes->count == 0)
        try_copies(step, causes, true);
}

/* Which stages are wrong, and why. */

static enum hc_step_cause_stage stage_of(const struct hc_step_verdict *v)
{
    if (strcmp(v->stage, "unscale") == 0)
        return strcmp(v->where, "found_inf") == 0 ? HC_STEP_CAUSE_STAGES : HC_STEP_CAUSE_UNSCALE;
    if (strcmp(v->stage, "update") != 0)
        return HC_STEP_CAUSE_STAGES;
    return strcmp(v->what, "copy of the master") == 0 ? HC_STEP_CAUSE_COPIES : HC_STEP_CAUSE_UPDATE;
}

void hc_step_explain(struct hc_step_session *session)
{
    static void (*const explain[HC_STEP_CAUSE_STAGES])(struct hc_step * step,
                                                       struct hc_step_causes * causes) = {
        [HC_STEP_CAUSE_UNSCALE] = hc_step_explain_unscaling,
        [HC_STEP_CAUSE_UPDATE] = step_explain_update,
        [HC_STEP_CAUSE_COPIES] = step_explain_copies};
    for (int i = 0; i < session->count; i++) {
        enum hc_step_cause_stage stage = stage_of(&session->verdicts[i]);
        if (stage != HC_STEP_CAUSE_STAGES && session->verdicts[i].judgement == HC_STEP_WRONG)
            session->causes[stage].wrong = true;
    }
    for (int stage = 0; stage < HC_STEP_CAUSE_STAGES; stage++) {
        struct hc_step_causes *causes = &session->causes[stage];
        if (!causes->wrong || session->step->status != HC_OK)
            continue;
        if (hc_step_left_out(session))
            causes->why = "a gradient overflowed, so that the step was to be left out";
        else
            explain[stage](session->step, causes);
    }
}
