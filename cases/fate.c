#include "cases/fate.h"

#include "check/promise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What becomes of such a step. */
enum fate {
    POISONS = 1, /* nobody looks: it is a step like any other */
    SKIPS,       /* nothing moves but the scale, the counts and what the pass forward has moved */
};

/* fastai2 goes on counting its good steps, the others count from 0 again. */
static const struct {
    enum fate fate;
    bool counts_on;
} rules[HC_SCALER_COUNT] = {
    [HC_SCALER_NONE] = {POISONS, true},     [HC_SCALER_STATIC] = {POISONS, true},
    [HC_SCALER_FASTAI2] = {SKIPS, true},    [HC_SCALER_APEX_FP16UTILS] = {SKIPS, false},
    [HC_SCALER_APEX_AMP] = {SKIPS, false},  [HC_SCALER_TORCH] = {SKIPS, false},
    [HC_SCALER_DEEPSPEED] = {SKIPS, false}, [HC_SCALER_DEEPSPEED_FUSED] = {SKIPS, false},
};

/* The first step, a middle one, and the one that would grow the scale. */
static const struct {
    const char *name;
    int before;
} moments[] = {{"the first step", 0}, {"a middle step", 2}, {"the growth step", 3}};

enum { MOMENTS = sizeof moments / sizeof moments[0] };

static bool same(const struct hc_bytes *a, const struct hc_bytes *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->data, b->data, a->count) == 0);
}

/* State: not the gradients, which the next pass overwrites. */
static bool is_state(enum hc_piece piece)
{
    return piece != HC_PIECE_GRADIENT && piece != HC_PIECE_MASTER_GRADIENT;
}

static const char *moved(const struct hc_plant_state *a, const struct hc_plant_state *b)
{
    for (int p = 0; p < HC_PIECE_COUNT; p++)
        if (is_state((enum hc_piece)p) && !same(&a->piece[p], &b->piece[p]))
            return hc_piece_names[p];
    return NULL;
}

static double scale_after(const struct hc_scene *s, bool found)
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

static void describe(const struct hc_scene *s, const struct hc_plant_at *at, const char *claim,
                     char what[160])
{
    char where[64];
    if (at->parameter >= 0)
        (void)snprintf(where, sizeof where, "the gradient of %s",
                       hc_net_parameters(s->plant->net)[at->parameter]->name);
    else
        (void)snprintf(where, sizeof where, "in%d of call %d, %s", at->slot, at->call,
                       hc_ops[s->op[at->call]].name);
    (void)snprintf(what, 160, "%s, %g in %s, %s: %s", s->plant->recipe.name, at->bad, where,
                   s->moment, claim);
}

static void claim(const struct hc_scene *s, const struct hc_plant_at *at, const char *text,
                  bool held)
{
    char what[160];
    describe(s, at, text, what);
    hc_claim_true(s->plant->check, what, held);
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

static void poisons(const struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    const struct hc_counters *c = &s->after.counters;
    claim(s, at, "counted as taken, none as skipped",
          c->taken == s->before.counters.taken + 1 && c->skipped == 0 &&
              c->steps == s->before.counters.steps + 1);
    claim(s, at, "the scale stays", c->scale == s->before.counters.scale);
    claim(s, at, "weights that the optimizer works on are lost",
          hc_plant_lost(s->plant, &s->after, HC_PIECE_MASTER) > 0);
    if (at->parameter >= 0) {
        claim(s, at, "it loses one weight, the others move as in a clean step",
              only_lost(s, HC_PIECE_MASTER, at->parameter) &&
                  only_lost(s, HC_PIECE_MODEL, at->parameter));
        claim(s, at, "running statistics move as in a clean step",
              same(&s->clean.statistics, &s->after.statistics));
    }
    harm->poisoned++;
}

static void skips(const struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    const struct hc_counters *b = &s->before.counters;
    const struct hc_counters *c = &s->after.counters;
    bool counts_on = rules[s->plant->recipe.scaler.rule].counts_on;
    bool lost = hc_plant_lost(s->plant, &s->after, HC_PIECE_COUNT) > 0;
    claim(s, at, "masters, model and momenta keep their bytes", !moved(&s->before, &s->after));
    claim(s, at, "t is not counted, the step is, as skipped",
          c->taken == b->taken && c->skipped == b->skipped + 1 && c->steps == b->steps + 1 &&
              c->found == b->found + 1);
    claim(s, at, "the scale is the rule's",
          (double)c->scale == scale_after(s, true) && c->scale <= b->scale);
    claim(s, at, "so is the count of clean steps", c->clean == (counts_on ? b->clean : 0));
    if (at->parameter >= 0)
        claim(s, at, "running statistics move as in a clean step",
              same(&s->clean.statistics, &s->after.statistics));
    harm->statistics += lost;
    harm->skipped++;
}

void hc_fate_plant(struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    hc_plant_restore(s->plant, &s->before);
    hc_plant_step(s->plant, s->batch, at);
    hc_plant_save(s->plant, &s->after);
    if (s->plant->failed)
        return;
    if (rules[s->plant->recipe.scaler.rule].fate == POISONS)
        poisons(s, at, harm);
    else
        skips(s, at, harm);
}

void hc_fate_reported(struct hc_scene *s, const struct hc_plant_at *at)
{
    hc_plant_restore(s->plant, &s->before);
    hc_plant_step(s->plant, s->batch, at);
    hc_plant_save(s->plant, &s->after);
    if (!s->plant->failed)
        claim(s, at, "what is only reported moves nothing",
              !moved(&s->clean, &s->after) && same(&s->clean.statistics, &s->after.statistics));
}

/* What the clean step does, without which the others would show nothing. */
static void clean_one(struct hc_scene *s)
{
    struct hc_plant *plant = s->plant;
    hc_plant_save(plant, &s->before);
    hc_plant_step(plant, s->batch, &hc_plant_nowhere);
    hc_plant_save(plant, &s->clean);
    if (plant->failed)
        return;
    s->calls = plant->calls;
    memcpy(s->op, plant->op, sizeof s->op);
    claim(s, &(struct hc_plant_at){.parameter = 0}, "without it, all weights are finite",
          hc_plant_lost(plant, &s->clean, HC_PIECE_MASTER) == 0);
    claim(s, &(struct hc_plant_at){.parameter = 0}, "without it, weights and statistics move",
          !same(&s->before.piece[HC_PIECE_MODEL], &s->clean.piece[HC_PIECE_MODEL]) &&
              !same(&s->before.statistics, &s->clean.statistics));
    claim(s, &(struct hc_plant_at){.parameter = 0}, "without it, the scale is the rule's",
          (double)s->clean.counters.scale == scale_after(s, false) && s->clean.counters.found == 0);
}

static void one_recipe(struct hc_check *check, const struct hc_recipe *recipe, hc_scene_walk *walk,
                       struct hc_harm *harm)
{
    struct hc_plant plant;
    struct hc_scene s = {.plant = &plant};
    int steps = 0;
    hc_plant_open(&plant, check, recipe);
    for (int m = 0; m < MOMENTS && !plant.failed; m++) {
        for (; steps < moments[m].before; steps++)
            hc_plant_step(&plant, steps, &hc_plant_nowhere);
        s.moment = moments[m].name;
        s.batch = steps;
        clean_one(&s);
        if (!plant.failed)
            walk(&s, harm);
        hc_plant_restore(&plant, &s.before);
    }
    hc_plant_close(&plant);
}

void hc_fate_of_recipes(struct hc_check *check, hc_scene_walk *walk)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    struct hc_harm harm = {0};
    for (int r = 0; r < n; r++) {
        struct hc_harm before = harm;
        if (!hc_claim_true(check, "every rule has its statement here",
                           rules[recipes[r].scaler.rule].fate))
            continue;
        one_recipe(check, &recipes[r], walk, &harm);
        harm.recipes += harm.poisoned > before.poisoned;
        hc_say(check, "%-16s %d steps skipped, %d of them lost running statistics; %d lost weights",
               recipes[r].name, harm.skipped - before.skipped, harm.statistics - before.statistics,
               harm.poisoned - before.poisoned);
    }
    hc_remark(check,
              "against the user: %d of %d skipped steps leave running statistics infinite or NaN; "
              "%d of %d recipes never look and lose weights",
              harm.statistics, harm.skipped, harm.recipes, n);
}
