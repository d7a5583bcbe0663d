#include "cases/fate.h"

#include <string.h>

/* The first step, a middle one, and the one that would grow the scale. */
static const struct {
    const char *name;
    int before;
} moments[] = {{"the first step", 0}, {"a middle step", 2}, {"the growth step", 3}};

enum { MOMENTS = sizeof moments / sizeof moments[0] };

void hc_experiment_inject(struct hc_experiment *s, const struct hc_injection_site *at, struct hc_damage *damage)
{
    hc_injection_restore(s->injection, &s->before);
    hc_injection_step(s->injection, s->batch, at);
    hc_injection_save(s->injection, &s->after);
    if (s->injection->failed)
        return;
    hc_overflow_judge(s, at, damage);
    if (s->batch != moments[1].before)
        return;
    hc_injection_step(s->injection, s->batch + 1, &hc_injection_none);
    hc_injection_save(s->injection, &s->next);
    if (!s->injection->failed)
        hc_overflow_next(s, at);
}

void hc_experiment_inject_reported(struct hc_experiment *s, const struct hc_injection_site *at)
{
    hc_injection_restore(s->injection, &s->before);
    hc_injection_step(s->injection, s->batch, at);
    hc_injection_save(s->injection, &s->after);
    if (!s->injection->failed)
        hc_experiment_claim(s, at, "what is only reported moves nothing",
                      !hc_overflow_moved(&s->clean, &s->after) &&
                          hc_bytes_same(&s->clean.statistics, &s->after.statistics));
}

/* What the clean step does, without which the others would show nothing. */
static void clean_one(struct hc_experiment *s)
{
    struct hc_injection *injection = s->injection;
    hc_injection_save(injection, &s->before);
    hc_injection_step(injection, s->batch, &hc_injection_none);
    hc_injection_save(injection, &s->clean);
    if (injection->failed)
        return;
    s->calls = injection->calls;
    memcpy(s->op, injection->op, sizeof s->op);
    hc_experiment_claim(s, NULL, "without it, all weights are finite",
                  hc_injection_nonfinite(injection, &s->clean, HC_STATE_MASTER) == 0);
    hc_experiment_claim(
        s, NULL, "without it, weights and statistics move",
        !hc_bytes_same(&s->before.piece[HC_STATE_MODEL], &s->clean.piece[HC_STATE_MODEL]) &&
            !hc_bytes_same(&s->before.statistics, &s->clean.statistics));
    hc_experiment_claim(s, NULL, "without it, the scale is the rule's",
                  (double)s->clean.counters.scale == hc_overflow_scale(s, false) &&
                      s->clean.counters.found == 0);
}

static void one_recipe(struct hc_check *check, const struct hc_recipe *recipe, hc_experiment_walk *walk,
                       struct hc_damage *damage)
{
    struct hc_injection injection;
    struct hc_experiment s = {.injection = &injection};
    int steps = 0;
    hc_injection_open(&injection, check, recipe);
    for (int m = 0; m < MOMENTS && !injection.failed; m++) {
        for (; steps < moments[m].before; steps++)
            hc_injection_step(&injection, steps, &hc_injection_none);
        s.moment = moments[m].name;
        s.batch = steps;
        clean_one(&s);
        if (!injection.failed)
            walk(&s, damage);
        hc_injection_restore(&injection, &s.before);
    }
    hc_injection_close(&injection);
    if (!injection.failed)
        hc_claim_sweep(check, s.checked, s.wrong, s.wrong ? s.first : NULL);
}

static void say(struct hc_check *check, const struct hc_recipe *recipe,
                const struct hc_damage *before, const struct hc_damage *damage)
{
    int poisoned = damage->poisoned - before->poisoned;
    int skipped = damage->skipped - before->skipped;
    int stepped = damage->stepped - before->stepped;
    if (poisoned)
        hc_say(check, "%-20s nobody looks: weights are lost in each of %d steps", recipe->name,
               poisoned);
    if (skipped)
        hc_say(check, "%-20s %d steps skipped; running statistics are lost in %d of them",
               recipe->name, skipped, damage->statistics - before->statistics);
    if (stepped)
        hc_say(check, "%-20s %d steps overflow and move the weights", recipe->name, stepped);
}

void hc_experiment_each_recipe(struct hc_check *check, hc_experiment_walk *walk)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    struct hc_damage damage = {0};
    for (int r = 0; r < n; r++) {
        struct hc_damage before = damage;
        if (!hc_overflow_known(recipes[r].scaler.rule)) {
            hc_claim_true(check, "every rule has its statement in outcome.c", false);
            continue;
        }
        one_recipe(check, &recipes[r], walk, &damage);
        damage.recipes += damage.poisoned > before.poisoned;
        say(check, &recipes[r], &before, &damage);
    }
    hc_remark(check,
              "against the user: %d of %d skipped steps leave running statistics infinite or NaN; "
              "%d of %d recipes never look and lose weights; %d overflowed steps step anyway",
              damage.statistics, damage.skipped, damage.recipes, n, damage.stepped);
}
