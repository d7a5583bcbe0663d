#include "cases/fate.h"

#include "check/promise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What becomes of such a step. */
enum outcome {
    POISONS = 1, /* nobody looks: it is a step like any other */
    SKIPS,       /* nothing moves but the scale, the counts and what the forward pass has moved */
    STEPS /* the gradients are not copied to the masters, and the optimizer runs on what these hold */
};

/* fastai2 goes on counting its good steps, the others count from 0 again. */
static const struct {
    enum outcome outcome;
    bool counts_on;
} rules[HC_SCALER_COUNT] = {
    [HC_SCALER_NONE] = {POISONS, true},
    [HC_SCALER_STATIC] = {POISONS, true},
    [HC_SCALER_FASTAI] = {STEPS, false},
    [HC_SCALER_FASTAI2] = {SKIPS, true},
    [HC_SCALER_APEX_FP16UTILS] = {SKIPS, false},
    [HC_SCALER_APEX_AMP] = {SKIPS, false},
    [HC_SCALER_TORCH] = {SKIPS, false},
    [HC_SCALER_DEEPSPEED_0170] = {SKIPS, false},
    [HC_SCALER_DEEPSPEED_0171] = {SKIPS, false},
    [HC_SCALER_DEEPSPEED_CONSECUTIVE] = {SKIPS, false},
    [HC_SCALER_DEEPSPEED_FUSED] = {SKIPS, false},
    [HC_SCALER_DEEPSPEED_UNFUSED] = {SKIPS, false},
};

bool hc_bytes_same(const struct hc_bytes *a, const struct hc_bytes *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->data, b->data, a->count) == 0);
}

/* State: not the gradients, which the next pass overwrites. */
static bool is_state(enum hc_state_tensor piece)
{
    return piece != HC_STATE_GRADIENT && piece != HC_STATE_MASTER_GRADIENT;
}

const char *hc_overflow_moved(const struct hc_injection_state *a, const struct hc_injection_state *b)
{
    for (int p = 0; p < HC_STATE_COUNT; p++)
        if (is_state((enum hc_state_tensor)p) && !hc_bytes_same(&a->piece[p], &b->piece[p]))
            return hc_state_tensor_names[p];
    return NULL;
}

double hc_overflow_scale(const struct hc_experiment *s, bool found)
{
    const struct hc_scaler *scaler = &s->injection->recipe.scaler;
    enum hc_scaler_rule rule = scaler->rule;
    int log2 = scaler->initial > 0 ? ilogbf(scaler->initial) : HC_LOG2_ZERO;
    struct hc_oracle oracle = hc_oracle_start(rule, HC_HELD_SINGLE, log2, HC_INJECTION_INTERVAL);
    for (int i = 0; i < s->batch; i++)
        (void)hc_oracle_step(&oracle, false);
    (void)hc_oracle_step(&oracle, found);
    return hc_oracle_scale(&oracle);
}

static void describe(const struct hc_experiment *s, const struct hc_injection_site *at, char where[80])
{
    if (!at)
        (void)snprintf(where, 80, "nothing");
    else if (at->parameter >= 0)
        (void)snprintf(where, 80, "%g in the gradient of %s", at->bad,
                       hc_net_parameters(s->injection->net)[at->parameter]->name);
    else
        (void)snprintf(where, 80, "%g in in%d of call %d, %s", at->bad, at->slot, at->call,
                       hc_ops[s->op[at->call]].name);
}

void hc_experiment_claim(struct hc_experiment *s, const struct hc_injection_site *at, const char *text, bool held)
{
    char where[80];
    s->checked++;
    if (held)
        return;
    describe(s, at, where);
    if (s->wrong++ == 0)
        (void)snprintf(s->first, sizeof s->first, "%s, %s at %s; not so: %s", s->injection->recipe.name,
                       where, s->moment, text);
}

/* Whether a piece is as a clean step leaves it but for the poisoned element, which is infinite or NaN. */
static bool only_lost(const struct hc_experiment *s, const struct hc_injection_site *at, enum hc_state_tensor piece)
{
    const struct hc_bytes *want = &s->clean.piece[piece];
    const struct hc_bytes *got = &s->after.piece[piece];
    struct hc_tensor t = {.rank = 0};
    size_t end = 0;
    for (int k = 0; k <= at->parameter; k++) {
        t = hc_update_tensor(s->injection->update, piece, k);
        end += hc_tensor_bytes(&t);
    }
    if (hc_tensor_count(&t) == 0)
        return hc_bytes_same(want, got);
    size_t width = (size_t)hc_formats[t.format].bytes;
    size_t here = at->first ? end - hc_tensor_bytes(&t) : end - width;
    size_t behind = here + width;
    t = hc_tensor1(t.format, 1, got->data + here);
    return want->count == got->count && !isfinite(hc_tensor_get(&t, 0)) &&
           memcmp(want->data, got->data, here) == 0 &&
           memcmp(want->data + behind, got->data + behind, got->count - behind) == 0;
}

/* A call of the pass before which no batch norm comes any more, or a gradient. */
static bool behind_norms(const struct hc_experiment *s, const struct hc_injection_site *at)
{
    bool behind = true;
    for (int call = at->call; at->parameter < 0 && call < s->calls; call++)
        behind = behind && s->op[call] != HC_OP_bn_leaky_train;
    return behind;
}

/* Running statistics move as in a clean step but for those that the poison has reached in the pass
   forward, which are infinite or NaN. */
static void of_statistics(struct hc_experiment *s, const struct hc_injection_site *at)
{
    const struct hc_plan *plan = hc_net_plan(s->injection->net);
    int64_t lost = 0;
    int64_t strange = 0;
    size_t here = 0;
    for (int i = 0; i < plan->statistics; i++) {
        struct hc_tensor t = hc_parameter_tensor(hc_net_statistics(s->injection->net)[i]);
        size_t width = (size_t)hc_formats[t.format].bytes;
        for (int64_t e = 0; e < hc_tensor_count(&t); e++, here += width) {
            struct hc_tensor one = hc_tensor1(t.format, 1, s->after.statistics.data + here);
            bool finite = isfinite(hc_tensor_get(&one, 0));
            lost += !finite;
            strange += finite && memcmp(s->clean.statistics.data + here, one.data, width) != 0;
        }
    }
    hc_experiment_claim(s, at, "running statistics are lost or move as in a clean step", strange == 0);
    hc_experiment_claim(s, at, "they are lost where a batch norm follows, and else not",
                  (lost == 0) == behind_norms(s, at));
}

/* The schedule goes by steps, t by those that were taken. */
static void of_rates(struct hc_experiment *s, const struct hc_injection_site *at)
{
    const struct hc_recipe *r = &s->injection->recipe;
    const float *told = s->injection->hyper;
    double rate = 1e-2 / (1 + s->batch) * (r->rate > 0 ? r->rate : 1);
    hc_experiment_claim(s, at, "the optimizer is told the schedule's rate, and its own t",
                  told[0] == (float)rate && told[2] == (float)(s->before.counters.taken + 1));
}

/* What a step adds to the counts; the others stay. */
static void of_counts(struct hc_experiment *s, const struct hc_injection_site *at, int32_t taken,
                      int32_t found, int32_t clean)
{
    const struct hc_counters *b = &s->before.counters;
    const struct hc_counters *c = &s->after.counters;
    hc_experiment_claim(s, at, "the step is counted as taken or as skipped",
                  c->steps == b->steps + 1 && c->taken == b->taken + taken &&
                      c->skipped == b->skipped + 1 - taken && c->found == b->found + found);
    hc_experiment_claim(s, at, "the count of clean steps is the rule's, others stay",
                  c->clean == clean && c->held_back == b->held_back && c->gave_up == b->gave_up &&
                      c->spare == b->spare);
}

static void poisons(struct hc_experiment *s, const struct hc_injection_site *at, struct hc_damage *damage)
{
    const struct hc_counters *b = &s->before.counters;
    bool looks = s->injection->recipe.scaler.rule != HC_SCALER_NONE;
    of_counts(s, at, 1, looks, b->clean + 1);
    hc_experiment_claim(s, at, "the scale stays", s->after.counters.scale == b->scale);
    hc_experiment_claim(s, at, "weights that the optimizer works on are lost",
                  hc_injection_nonfinite(s->injection, &s->after, HC_STATE_MASTER) > 0);
    for (int p = 0; p < HC_STATE_COUNT && at->parameter >= 0; p++)
        if (is_state((enum hc_state_tensor)p))
            hc_experiment_claim(s, at, "one weight is lost, all else moves as in a clean step",
                          only_lost(s, at, (enum hc_state_tensor)p));
    damage->poisoned++;
}

static void skips(struct hc_experiment *s, const struct hc_injection_site *at, struct hc_damage *damage)
{
    const struct hc_counters *b = &s->before.counters;
    const struct hc_counters *c = &s->after.counters;
    bool counts_on = rules[s->injection->recipe.scaler.rule].counts_on;
    bool lost = hc_injection_nonfinite(s->injection, &s->after, HC_STATE_COUNT) > 0;
    hc_experiment_claim(s, at, "masters, model and momenta keep their bytes",
                  !hc_overflow_moved(&s->before, &s->after));
    of_counts(s, at, 0, 1, counts_on ? b->clean : 0);
    hc_experiment_claim(s, at, "the scale is the rule's",
                  (double)c->scale == hc_overflow_scale(s, true) && c->scale <= b->scale);
    damage->statistics += lost;
    damage->skipped++;
}

/* fastai 1.0.61. At the first step the masters have no gradients: torch's optimizers leave such
   parameters out, their t too, but the wrapper's true weight decay does not. A flat master's gradient is
   new memory then. */
static void steps(struct hc_experiment *s, const struct hc_injection_site *at, struct hc_damage *damage)
{
    const struct hc_counters *b = &s->before.counters;
    const struct hc_counters *c = &s->after.counters;
    bool none = b->taken == 0 && !s->injection->recipe.flat;
    hc_experiment_claim(s, at, "masters, momenta and model are those of a step on what the masters hold",
                  hc_overflow_unlike_fastai(s, none) == 0);
    hc_experiment_claim(
        s, at, "masters and model move though the step overflowed",
        !hc_bytes_same(&s->before.piece[HC_STATE_MASTER], &s->after.piece[HC_STATE_MASTER]) &&
            !hc_bytes_same(&s->before.piece[HC_STATE_MODEL], &s->after.piece[HC_STATE_MODEL]));
    of_counts(s, at, !none, 1, 0);
    hc_experiment_claim(s, at, "the scale is the rule's",
                  (double)c->scale == hc_overflow_scale(s, true) && c->scale < b->scale);
    damage->stepped++;
}

/* What looks steps on. What does not has lost weights for good. */
void hc_overflow_next(struct hc_experiment *s, const struct hc_injection_site *at)
{
    const struct hc_counters *b = &s->after.counters;
    const struct hc_counters *c = &s->next.counters;
    bool poisoned = rules[s->injection->recipe.scaler.rule].outcome == POISONS;
    hc_experiment_claim(s, at, "the next step is taken",
                  c->taken == b->taken + 1 && (poisoned || c->found == b->found));
    hc_experiment_claim(s, at, "it moves the weights",
                  poisoned || !hc_bytes_same(&s->after.piece[HC_STATE_MASTER],
                                            &s->next.piece[HC_STATE_MASTER]));
    hc_experiment_claim(s, at, "its weights are sound, or lost for good",
                  poisoned == (hc_injection_nonfinite(s->injection, &s->next, HC_STATE_MASTER) > 0));
}

bool hc_overflow_known(enum hc_scaler_rule rule)
{
    return rules[rule].outcome != 0;
}

void hc_overflow_judge(struct hc_experiment *s, const struct hc_injection_site *at, struct hc_damage *damage)
{
    static void (*const outcomes[])(struct hc_experiment *, const struct hc_injection_site *,
                                 struct hc_damage *) = {
        [POISONS] = poisons, [SKIPS] = skips, [STEPS] = steps};
    of_rates(s, at);
    of_statistics(s, at);
    outcomes[rules[s->injection->recipe.scaler.rule].outcome](s, at, damage);
}
