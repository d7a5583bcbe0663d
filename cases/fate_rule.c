#include "cases/fate.h"

#include "check/promise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What becomes of such a step. */
enum fate {
    POISONS = 1, /* nobody looks: it is a step like any other */
    SKIPS,       /* nothing moves but the scale, the counts and what the pass forward has moved */
    STEPS /* the gradients are not copied to the masters, and the optimizer runs on what these hold */
};

/* fastai2 goes on counting its good steps, the others count from 0 again. */
static const struct {
    enum fate fate;
    bool counts_on;
} rules[HC_SCALER_COUNT] = {
    [HC_SCALER_NONE] = {POISONS, true},           [HC_SCALER_STATIC] = {POISONS, true},
    [HC_SCALER_FASTAI] = {STEPS, false},          [HC_SCALER_FASTAI2] = {SKIPS, true},
    [HC_SCALER_APEX_FP16UTILS] = {SKIPS, false},  [HC_SCALER_APEX_AMP] = {SKIPS, false},
    [HC_SCALER_TORCH] = {SKIPS, false},           [HC_SCALER_DEEPSPEED] = {SKIPS, false},
    [HC_SCALER_DEEPSPEED_FUSED] = {SKIPS, false},
};

bool hc_fate_same(const struct hc_bytes *a, const struct hc_bytes *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->data, b->data, a->count) == 0);
}

/* State: not the gradients, which the next pass overwrites. */
static bool is_state(enum hc_piece piece)
{
    return piece != HC_PIECE_GRADIENT && piece != HC_PIECE_MASTER_GRADIENT;
}

const char *hc_fate_moved(const struct hc_plant_state *a, const struct hc_plant_state *b)
{
    for (int p = 0; p < HC_PIECE_COUNT; p++)
        if (is_state((enum hc_piece)p) && !hc_fate_same(&a->piece[p], &b->piece[p]))
            return hc_piece_names[p];
    return NULL;
}

double hc_fate_scale(const struct hc_scene *s, bool found)
{
    const struct hc_scaler *scaler = &s->plant->recipe.scaler;
    enum hc_scaler_rule rule = scaler->rule;
    int log2 = scaler->initial > 0 ? ilogbf(scaler->initial) : HC_LOG2_ZERO;
    struct hc_promise promise = hc_promise_start(rule, HC_HELD_SINGLE, log2, HC_PLANT_INTERVAL);
    for (int i = 0; i < s->batch; i++)
        (void)hc_promise_step(&promise, false);
    (void)hc_promise_step(&promise, found);
    return hc_promise_scale(&promise);
}

static void describe(const struct hc_scene *s, const struct hc_plant_at *at, char where[80])
{
    if (!at)
        (void)snprintf(where, 80, "nothing");
    else if (at->parameter >= 0)
        (void)snprintf(where, 80, "%g in the gradient of %s", at->bad,
                       hc_net_parameters(s->plant->net)[at->parameter]->name);
    else
        (void)snprintf(where, 80, "%g in in%d of call %d, %s", at->bad, at->slot, at->call,
                       hc_ops[s->op[at->call]].name);
}

void hc_fate_claim(struct hc_scene *s, const struct hc_plant_at *at, const char *text, bool held)
{
    char where[80];
    s->checked++;
    if (held)
        return;
    describe(s, at, where);
    if (s->wrong++ == 0)
        (void)snprintf(s->first, sizeof s->first, "%s, %s at %s; not so: %s", s->plant->recipe.name,
                       where, s->moment, text);
}

/* Whether b is a but for one element, the last of parameter i, which is infinite or NaN. */
static bool only_lost(const struct hc_scene *s, enum hc_piece piece, int i)
{
    const struct hc_bytes *want = &s->clean.piece[piece];
    const struct hc_bytes *got = &s->after.piece[piece];
    struct hc_tensor t;
    size_t end = 0;
    for (int k = 0; k <= i; k++) {
        t = hc_update_tensor(s->plant->update, piece, k);
        end += hc_tensor_bytes(&t);
    }
    size_t width = (size_t)hc_formats[t.format].bytes;
    size_t at = end - width;
    t = hc_tensor1(t.format, 1, got->data + at);
    return want->count == got->count && !isfinite(hc_tensor_get(&t, 0)) &&
           memcmp(want->data, got->data, at) == 0 &&
           memcmp(want->data + end, got->data + end, got->count - end) == 0;
}

static void poisons(struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    const struct hc_counters *c = &s->after.counters;
    hc_fate_claim(s, at, "counted as taken, none as skipped",
                  c->taken == s->before.counters.taken + 1 && c->skipped == 0 &&
                      c->steps == s->before.counters.steps + 1);
    hc_fate_claim(s, at, "the scale stays", c->scale == s->before.counters.scale);
    hc_fate_claim(s, at, "weights that the optimizer works on are lost",
                  hc_plant_lost(s->plant, &s->after, HC_PIECE_MASTER) > 0);
    if (at->parameter >= 0) {
        hc_fate_claim(s, at, "it loses one weight, the others move as in a clean step",
                      only_lost(s, HC_PIECE_MASTER, at->parameter) &&
                          only_lost(s, HC_PIECE_MODEL, at->parameter));
        hc_fate_claim(s, at, "running statistics move as in a clean step",
                      hc_fate_same(&s->clean.statistics, &s->after.statistics));
    }
    harm->poisoned++;
}

static void skips(struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    const struct hc_counters *b = &s->before.counters;
    const struct hc_counters *c = &s->after.counters;
    bool counts_on = rules[s->plant->recipe.scaler.rule].counts_on;
    bool lost = hc_plant_lost(s->plant, &s->after, HC_PIECE_COUNT) > 0;
    hc_fate_claim(s, at, "masters, model and momenta keep their bytes",
                  !hc_fate_moved(&s->before, &s->after));
    hc_fate_claim(s, at, "t is not counted, the step is, as skipped",
                  c->taken == b->taken && c->skipped == b->skipped + 1 &&
                      c->steps == b->steps + 1 && c->found == b->found + 1);
    hc_fate_claim(s, at, "the scale is the rule's",
                  (double)c->scale == hc_fate_scale(s, true) && c->scale <= b->scale);
    hc_fate_claim(s, at, "so is the count of clean steps", c->clean == (counts_on ? b->clean : 0));
    if (at->parameter >= 0)
        hc_fate_claim(s, at, "running statistics move as in a clean step",
                      hc_fate_same(&s->clean.statistics, &s->after.statistics));
    harm->statistics += lost;
    harm->skipped++;
}

/* Elements of a piece that are not `factor` times what they were: to within two roundings, the factor's
   own and the product's. Pieces are fp32. */
static int64_t not_times(const struct hc_scene *s, enum hc_piece piece, double factor, double slack)
{
    const struct hc_bytes *was = &s->before.piece[piece];
    const struct hc_bytes *is = &s->after.piece[piece];
    int64_t wrong = 0;
    for (size_t at = 0; at < was->count; at += sizeof(float)) {
        float a;
        float b;
        memcpy(&a, was->data + at, sizeof a);
        memcpy(&b, is->data + at, sizeof b);
        double want = factor * (double)a;
        wrong += !(fabs((double)b - want) <= slack * fabs(want) + 0x1p-149);
    }
    return wrong;
}

/* fastai 1.0.61. At the first step the masters have no gradients: torch's optimizers leave such
   parameters out, their t too, but the wrapper's true weight decay does not. Later they hold the zeros
   that the step before has left: momenta decay, weights go on by momentum and decay. A flat master's
   gradient is new memory at the first step: whatever it holds. */
static void steps(struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    const struct hc_counters *b = &s->before.counters;
    const struct hc_counters *c = &s->after.counters;
    const struct hc_recipe *r = &s->plant->recipe;
    bool first = b->taken == 0;
    bool none = first && !r->flat;
    const double slack = 0x1p-23 * (1 + 0x1p-20);
    if (!first) {
        hc_fate_claim(s, at, "m decays", not_times(s, HC_PIECE_M, 0.9F, slack) == 0);
        hc_fate_claim(s, at, "v decays", not_times(s, HC_PIECE_V, (float)r->beta2, slack) == 0);
    } else if (none) {
        hc_fate_claim(s, at, "momenta keep their bytes",
                      hc_fate_same(&s->before.piece[HC_PIECE_M], &s->after.piece[HC_PIECE_M]) &&
                          hc_fate_same(&s->before.piece[HC_PIECE_V], &s->after.piece[HC_PIECE_V]));
        if (r->decay_norm)
            hc_fate_claim(
                s, at, "masters decay, and nothing else",
                not_times(s, HC_PIECE_MASTER, 1 - (double)1e-2F * r->weight_decay, slack) == 0);
    }
    hc_fate_claim(
        s, at, "masters and model move though the step overflowed",
        !hc_fate_same(&s->before.piece[HC_PIECE_MASTER], &s->after.piece[HC_PIECE_MASTER]));
    hc_fate_claim(s, at, "the scale is the rule's",
                  (double)c->scale == hc_fate_scale(s, true) && c->scale < b->scale &&
                      c->clean == 0);
    hc_fate_claim(s, at, "t is counted unless there are no gradients, the step is",
                  c->taken == b->taken + !none && c->skipped == b->skipped + none &&
                      c->steps == b->steps + 1 && c->found == b->found + 1);
    hc_fate_claim(s, at, "what the optimizer works on stays finite",
                  hc_plant_lost(s->plant, &s->after, HC_PIECE_MASTER) == 0);
    if (at->parameter >= 0)
        hc_fate_claim(s, at, "running statistics move as in a clean step",
                      hc_fate_same(&s->clean.statistics, &s->after.statistics));
    harm->stepped++;
}

bool hc_fate_known(enum hc_scaler_rule rule)
{
    return rules[rule].fate != 0;
}

void hc_fate_judge(struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    static void (*const fates[])(struct hc_scene *, const struct hc_plant_at *,
                                 struct hc_harm *) = {
        [POISONS] = poisons, [SKIPS] = skips, [STEPS] = steps};
    fates[rules[s->plant->recipe.scaler.rule].fate](s, at, harm);
}
