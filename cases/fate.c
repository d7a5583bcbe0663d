#include "cases/fate.h"

#include <string.h>

/* The first step, a middle one, and the one that would grow the scale. */
static const struct {
    const char *name;
    int before;
} moments[] = {{"the first step", 0}, {"a middle step", 2}, {"the growth step", 3}};

enum { MOMENTS = sizeof moments / sizeof moments[0] };

void hc_fate_plant(struct hc_scene *s, const struct hc_plant_at *at, struct hc_harm *harm)
{
    hc_plant_restore(s->plant, &s->before);
    hc_plant_step(s->plant, s->batch, at);
    hc_plant_save(s->plant, &s->after);
    if (s->plant->failed)
        return;
    hc_fate_judge(s, at, harm);
    if (s->batch != moments[1].before)
        return;
    hc_plant_step(s->plant, s->batch + 1, &hc_plant_nowhere);
    hc_plant_save(s->plant, &s->next);
    if (!s->plant->failed)
        hc_fate_of_next(s, at);
}

void hc_fate_reported(struct hc_scene *s, const struct hc_plant_at *at)
{
    hc_plant_restore(s->plant, &s->before);
    hc_plant_step(s->plant, s->batch, at);
    hc_plant_save(s->plant, &s->after);
    if (!s->plant->failed)
        hc_fate_claim(s, at, "what is only reported moves nothing",
                      !hc_fate_moved(&s->clean, &s->after) &&
                          hc_fate_same(&s->clean.statistics, &s->after.statistics));
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
    hc_fate_claim(s, NULL, "without it, all weights are finite",
                  hc_plant_lost(plant, &s->clean, HC_PIECE_MASTER) == 0);
    hc_fate_claim(
        s, NULL, "without it, weights and statistics move",
        !hc_fate_same(&s->before.piece[HC_PIECE_MODEL], &s->clean.piece[HC_PIECE_MODEL]) &&
            !hc_fate_same(&s->before.statistics, &s->clean.statistics));
    hc_fate_claim(s, NULL, "without it, the scale is the rule's",
                  (double)s->clean.counters.scale == hc_fate_scale(s, false) &&
                      s->clean.counters.found == 0);
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
    if (!plant.failed)
        hc_claim_sweep(check, s.checked, s.wrong, s.wrong ? s.first : NULL);
}

static void say(struct hc_check *check, const struct hc_recipe *recipe,
                const struct hc_harm *before, const struct hc_harm *harm)
{
    int poisoned = harm->poisoned - before->poisoned;
    int skipped = harm->skipped - before->skipped;
    int stepped = harm->stepped - before->stepped;
    if (poisoned)
        hc_say(check, "%-20s nobody looks: weights are lost in each of %d steps", recipe->name,
               poisoned);
    if (skipped)
        hc_say(check, "%-20s %d steps skipped; running statistics are lost in %d of them",
               recipe->name, skipped, harm->statistics - before->statistics);
    if (stepped)
        hc_say(check, "%-20s %d steps overflow and move the weights", recipe->name, stepped);
}

void hc_fate_of_recipes(struct hc_check *check, hc_scene_walk *walk)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    struct hc_harm harm = {0};
    for (int r = 0; r < n; r++) {
        struct hc_harm before = harm;
        if (!hc_fate_known(recipes[r].scaler.rule)) {
            hc_claim_true(check, "every rule has its statement in fate_rule.c", false);
            continue;
        }
        one_recipe(check, &recipes[r], walk, &harm);
        harm.recipes += harm.poisoned > before.poisoned;
        say(check, &recipes[r], &before, &harm);
    }
    hc_remark(check,
              "against the user: %d of %d skipped steps leave running statistics infinite or NaN; "
              "%d of %d recipes never look and lose weights; %d overflowed steps step anyway",
              harm.statistics, harm.skipped, harm.recipes, n, harm.stepped);
}
