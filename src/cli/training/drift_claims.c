#include <math.h>
#include <stdio.h>

#include "cli/training/drift_record.h"
#include "cli/training/training_record.h"
#include "train/drift/drift_sources.h"
#include "train/update/recipe_fields.h"
#include "op/text.h"

/* A claim. */
struct claim {
    const struct hc_training *on;
    char name[600];
    char recipes[2 * HC_RECIPE_NAME + 2];
    char note[256];
    const char *unit;
    enum hc_verdict verdict;
    double error;
    double bound;
    int64_t checked;
};

typedef void taker(const struct hc_drift_report *r, const struct claim *claim, void *context);

/* Passes if error < bound, or if there is no error at all. */
static enum hc_verdict judge_claim(double error, double bound)
{
    return error < bound || error == 0 ? HC_PASS : HC_FAIL;
}

static int64_t weights(const struct hc_drift_report *r)
{
    return r->plan.weights + r->plan.norm_weights;
}

static void explained(const struct hc_drift_report *r, int recipe, bool free, taker *take,
                      void *context)
{
    const struct hc_drift *d = &r->drift[recipe];
    struct claim claim = {.on = hc_comparison_training(r->c, recipe),
                          .error = free ? d->residual_free : d->residual_gradient,
                          .bound = free ? d->free : d->all.error,
                          .unit = free ? "of the way" : "of |g64|",
                          .checked = free ? weights(r) : d->finite * weights(r)};
    char name[HC_DRIFT_NAME];
    hc_drift_name(d, name);
    (void)hc_text_write(claim.name, sizeof claim.name, "drift/%s%s-%s", name, r->of_seed,
                        free ? "weights-explained" : "gradients-explained");
    (void)hc_text_write(claim.recipes, sizeof claim.recipes, "%s", d->recipe->name);
    (void)hc_text_write(claim.note, sizeof claim.note,
                        "its formats leave %.3g of a drift of %.3g unexplained", claim.error,
                        claim.bound);
    claim.verdict = judge_claim(claim.error, claim.bound);
    if (!isfinite(claim.bound)) {
        claim.verdict = HC_SKIPPED;
        claim.error = claim.bound = 0;
        (void)hc_text_write(claim.note, sizeof claim.note,
                            "%s are not finite: there is no drift to explain",
                            free ? "its weights" : "its gradients");
    }
    if (free && hc_rounds_otherwise(d->recipe)) {
        claim.verdict = HC_SKIPPED;
        (void)hc_text_write(
            claim.note, sizeof claim.note,
            "its weights are not rounded to nearest: %.3g of a drift of %.3g is unexplained",
            claim.error, claim.bound);
    }
    take(r, &claim, context);
}

/* The average over ranks has a bound, unlike the drift. It is SKIPPED where sums overflow in all
   steps. */
static void averaged(const struct hc_drift_report *r, int recipe, taker *take, void *context)
{
    const struct hc_drift *d = &r->drift[recipe];
    char name[HC_DRIFT_NAME];
    struct claim claim = {.on = hc_comparison_training(r->c, recipe),
                          .error = d->alone_gradient[HC_SOURCE_REDUCTION],
                          .bound = d->average_bound,
                          .unit = "of |g64|",
                          .checked = r->steps * weights(r)};
    if (d->shards <= 1 || isnan(d->average_bound))
        return;
    hc_drift_name(d, name);
    (void)hc_text_write(claim.name, sizeof claim.name, "drift/%s%s-average-within-bound", name,
                        r->of_seed);
    (void)hc_text_write(claim.recipes, sizeof claim.recipes, "%s", d->recipe->name);
    (void)hc_text_write(claim.note, sizeof claim.note, "sums over %d shards in %s", d->shards,
                        hc_drift_format(d, HC_SOURCE_REDUCTION));
    claim.verdict = judge_claim(claim.error, claim.bound);
    if (isnan(claim.error)) {
        claim.verdict = HC_SKIPPED;
        claim.error = claim.bound = 0;
        (void)hc_text_write(claim.note, sizeof claim.note, "sums over %d shards in %s overflow",
                            d->shards, hc_drift_format(d, HC_SOURCE_REDUCTION));
    }
    take(r, &claim, context);
}

static double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/* The largest difference between the measured numbers of two recipes. */
static double unlike(const struct hc_drift_report *r, const struct hc_drift *a,
                     const struct hc_drift *b)
{
    double most = larger(fabs(a->all.error - b->all.error), fabs(a->free - b->free));
    most = larger(fabs(a->all.lost - b->all.lost), most);
    for (int l = 0; l < r->plan.layers; l++)
        if (r->plan.layer[l].parameter >= 0)
            most = larger(fabs(a->layer[l].error - b->layer[l].error), most);
    return most;
}

static void no_drift(const struct hc_drift_report *r, int recipe, taker *take, void *context)
{
    static const struct hc_drift none;
    char name[HC_DRIFT_NAME];
    const struct hc_drift *d = &r->drift[recipe];
    struct claim claim = {.on = hc_comparison_training(r->c, recipe),
                          .unit = "of |g64|",
                          .error = unlike(r, d, &none),
                          .checked = d->finite * weights(r)};
    claim.verdict = judge_claim(claim.error, 0);
    hc_drift_name(d, name);
    (void)hc_text_write(claim.name, sizeof claim.name, "drift/%s%s-not-from-itself", name,
                        r->of_seed);
    (void)hc_text_write(claim.recipes, sizeof claim.recipes, "%s", d->recipe->name);
    take(r, &claim, context);
}

/* Whether two recipes differ only in where their masters lie, and in how many of them an op
   takes. */
static bool alike(const struct hc_recipe *a, const struct hc_recipe *b)
{
    struct hc_recipe x = *a;
    struct hc_recipe y = *b;
    x.flat = y.flat = x.apart = y.apart = false;
    return hc_same_recipe(&x, &y) && !hc_recipe_steps_on_overflow(a);
}

static void same_drift(const struct hc_drift_report *r, int one, int other, taker *take,
                       void *context)
{
    const struct hc_drift *a = &r->drift[one];
    const struct hc_drift *b = &r->drift[other];
    char name[HC_DRIFT_NAME];
    struct claim claim = {.on = hc_comparison_training(r->c, other),
                          .unit = "of |g64|",
                          .error = unlike(r, a, b),
                          .checked = a->finite * weights(r)};
    claim.verdict = judge_claim(claim.error, 0);
    hc_drift_name(b, name);
    (void)hc_text_write(claim.name, sizeof claim.name, "drift/%s%s-as-%s", name, r->of_seed,
                        a->recipe->name);
    (void)hc_text_write(claim.recipes, sizeof claim.recipes, "%s,%s", a->recipe->name,
                        b->recipe->name);
    take(r, &claim, context);
}

static void each_of_seed(const struct hc_drift_report *r, taker *take, void *context)
{
    for (int i = 0; i < r->c->recipes; i++) {
        const struct hc_drift *d = &r->drift[i];
        if (d->recipe->model == HC_FP64) {
            no_drift(r, i, take, context);
            continue;
        }
        explained(r, i, false, take, context);
        explained(r, i, true, take, context);
        averaged(r, i, take, context);
        for (int j = 0; j < i; j++)
            if (r->c->on[j] == r->c->on[i] && alike(r->drift[j].recipe, d->recipe))
                same_drift(r, j, i, take, context);
    }
}

static void each(const struct hc_drift_report *r, taker *take, void *context)
{
    for (int i = 0; i < r->parts * r->seeds; i++) {
        const struct hc_drift_report part = hc_drift_of_ranks(r, i / r->seeds);
        const struct hc_drift_report one = hc_drift_of_seed(&part, i % r->seeds);
        each_of_seed(&one, take, context);
    }
}

static void add_claim(const struct hc_drift_report *r, const struct claim *claim, void *record)
{
    char options[HC_TRAINING_REPRO];
    char repro[HC_TRAINING_REPRO + 512];
    char ranks[32] = "";
    const struct hc_training *t = claim->on;
    if (r->ranks > 0)
        (void)snprintf(ranks, sizeof ranks, " --ranks %d", r->ranks);
    hc_training_repro(t, options, sizeof options);
    (void)hc_text_write(repro, sizeof repro,
                        "halfcheck compare --drift --steps %d --recipes %s --seed %llu%s%s",
                        r->steps, claim->recipes, (unsigned long long)r->seed, ranks, options);
    struct hc_row row = hc_row_claim(claim->name, t->backend->name, claim->verdict, claim->error,
                                     claim->bound, claim->unit);
    row.checked = claim->checked;
    row.seed = r->seed;
    row.note = claim->note;
    row.repro = repro;
    hc_record_add(record, &row);
}

void hc_drift_claims(const struct hc_drift_report *r, json_t *record)
{
    each(r, add_claim, record);
}

static void count(const struct hc_drift_report *r, const struct claim *claim, void *failures)
{
    (void)r;
    *(int *)failures += claim->verdict == HC_FAIL;
    if (claim->verdict == HC_FAIL)
        hc_print(stdout, "FAIL %s: error %.3g, bound %.3g %s\n", claim->name, claim->error,
                 claim->bound, claim->unit);
}

int hc_drift_failures(const struct hc_drift_report *r)
{
    int failures = 0;
    each(r, count, &failures);
    return failures;
}
