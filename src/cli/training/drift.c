#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "cli/training/drift_record.h"
#include "cli/training/drift_ranks.h"
#include "cli/training/drift_shares.h"
#include "cli/report/script.h"
#include "op/text.h"
#include "op/output.h"
#include "cli/report/plot.h"
#include "cli/training/training_record.h"
#include "train/drift/drift_sources.h"
#include "train/update/recipe_fields.h"

static void print_summary(const struct hc_drift_report *r, FILE *out)
{
    char label[HC_COMPARED_LABEL];
    int width = hc_comparison_width(r->c);
    assert(r->drift);
    char left[128];
    const struct hc_counted steps = hc_count(r->steps, "step");
    (void)snprintf(left, sizeof left, "against fp64, mean over %s at its weights", steps.text);
    hc_print(out, "%-*s | free run, %s\n", width + 36, left, steps.text);
    hc_print(out, "%-*s %9s %10s %8s %6s  %9s %9s\n", width, "recipe", "gradient", "1 - cosine",
             "dW = 0 %", "lost %", "weights", "loss");
    for (int i = 0; i < r->c->recipes; i++) {
        const struct hc_drift *d = &r->drift[i];
        assert(d->recipe);
        hc_comparison_label(r->c, i, label);
        hc_print(out, "%-*s %9.2e %10.2e %8.3f %6.2f  %9.2e %+9.2e\n", width, label, d->all.error,
                 1 - d->all.cosine, 100 * d->all.underflow, 100 * d->all.lost, d->free, d->unlike);
        if (d->finite < r->steps)
            hc_print(out, "%*s gradients are finite in %d of the %d steps\n", width, "", d->finite,
                     r->steps);
    }
    hc_print(out, "gradient: |g - g64| / |g64|; weights: |w - w64| / |w64 - start|;\n"
                  "loss: minus that of fp64\n");
}

/* "-" where nothing was measured. */
static const char *number(double x, char text[16])
{
    if (isnan(x))
        return "-";
    (void)hc_text_write(text, 16, "%.2e", x);
    return text;
}

/* Behind a recipe's name; nothing without --ranks. */
static const char *over_ranks(const struct hc_drift_report *r, char text[32])
{
    text[0] = '\0';
    if (r->ranks > 0)
        (void)snprintf(text, 32, ", %d rank%s", r->ranks, r->ranks == 1 ? "" : "s");
    return text;
}

/* The longest name is the unit's. */
static void print_attribution(const struct hc_drift_report *r, int recipe, FILE *out)
{
    const struct hc_drift *d = &r->drift[recipe];
    char label[HC_COMPARED_LABEL];
    char alone[2][16];
    char ranks[32];
    hc_comparison_label(r->c, recipe, label);
    int width = hc_drift_has_source(r, HC_SOURCE_UNIT)        ? 23
                : hc_drift_has_source(r, HC_SOURCE_REDUCTION) ? 20
                                                              : 18;
    hc_print(out,
             "\n%s%s: its formats put into the fp64 run; in ( ) the recipe itself\n"
             "  %-*s %11s(%.2e) %13s(%.2e)\n",
             label, over_ranks(r, ranks), width + 7, "", "gradient ", d->all.error, "weights ",
             d->free);
    hc_print(out, "  %-*s %-6s %10s %10s %12s %10s\n", width, "source", "format", "alone",
             "all but it", "alone", "all but it");
    for (int k = 0; k < HC_SOURCE_COUNT; k++)
        if (hc_drift_has_source(r, k))
            hc_print(out, "  %-*s %-6s %10s %10.2e %12s %10.2e\n", width, hc_drift_source(k),
                     hc_drift_format(d, k), number(d->alone_gradient[k], alone[0]),
                     d->without_gradient[k], number(d->alone_free[k], alone[1]),
                     d->without_free[k]);
    hc_print(out, "  %-*s %-6s %10.2e %10s %12.2e\n", width, hc_drift_source(HC_SOURCE_COUNT), "-",
             d->alone_gradient[HC_SOURCE_COUNT], "", d->alone_free[HC_SOURCE_COUNT]);
    hc_print(out, "  %-*s %-6s %10.2e %10s %12.2e\n", width, "left over", "-", d->residual_gradient,
             "", d->residual_free);
}

/* What each unit does, beside what training on its backend changes: its recipe against itself on
   the base's backend. */
static void print_units(const struct hc_drift_report *r, FILE *out)
{
    char label[HC_COMPARED_LABEL];
    char alone[2][16];
    int width = hc_comparison_width(r->c);
    const char *base = hc_comparison_training(r->c, r->c->base)->backend->name;
    hc_print(out,
             "\nwhat the unit alone changes, against sums in fp32; and loss minus that on %s\n",
             base);
    hc_print(out, "%-*s %10s %9s %10s\n", width, "recipe", "gradient", "weights", "loss");
    for (int i = 0; i < r->c->recipes; i++) {
        const struct hc_drift *d = &r->drift[i];
        hc_comparison_label(r->c, i, label);
        hc_print(out, "%-*s %10s %9s %+10.2e\n", width, label,
                 number(d->alone_gradient[HC_SOURCE_UNIT], alone[0]),
                 number(d->alone_free[HC_SOURCE_UNIT], alone[1]),
                 d->unlike - r->drift[hc_comparison_counterpart(r->c, i)].unlike);
    }
}

static void print_report(FILE *out, const void *report)
{
    const struct hc_drift_report *r = report;
    for (int part = 0; part < r->parts; part++) {
        const struct hc_drift_report one = hc_drift_of_ranks(r, part);
        (void)fputs(part > 0 ? "\n" : "", out);
        hc_drift_print_ranks(&one, out);
        print_summary(&one, out);
        for (int i = 0; i < r->c->recipes; i++) {
            print_attribution(&one, i, out);
            hc_drift_print_shares(&one, i, out);
        }
        hc_drift_print_operands(&one, out);
        if (r->c->training->backend_count > 1)
            print_units(&one, out);
    }
    hc_drift_print_averages(r, out);
    (void)fputs("\nalone: the fp64 run with only this rounding; all but it: with all the others;\n"
                "left over: the distance between the recipe's own run and the fp64 run with all\n"
                "of its roundings\n",
                out);
    hc_drift_print_shares_legend(r, out);
    if (hc_drift_has_source(r, HC_SOURCE_UNIT))
        hc_print(out, "this unit: alone is what it changes in the recipe, against sums in fp32 of\n"
                      "the same rounded inputs; all but it: the recipe with those sums\n");
    if (r->c->training->set.synthetic)
        hc_print(out, "\n%s\n", r->c->training->set.origin);
}

/* What was printed, for later. */
static enum hc_status keep_table(const struct hc_drift_report *r)
{
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/table.txt", r->folder);
    return hc_output_print(path, print_report, r);
}

/* Mean and deviation over the seeds of the gradient's error and the weights' distance. */
static void print_spreads(const struct hc_drift_report *r)
{
    double gradient[HC_MAX_SEEDS] = {0};
    double weights[HC_MAX_SEEDS] = {0};
    double mean[2];
    double deviation[2];
    char label[HC_COMPARED_LABEL];
    int width = hc_comparison_width(r->c);
    if (r->ranks > 0)
        hc_print(stdout, "\n%d rank%s:", r->ranks, r->ranks == 1 ? "" : "s");
    hc_print(stdout, "\nmeans over %d seeds, and the deviation of one seed\n%-*s %21s %21s\n",
             r->seeds, width, "recipe", "gradient", "weights");
    for (int i = 0; i < r->c->recipes; i++) {
        for (int s = 0; s < r->seeds; s++) {
            gradient[s] = r->drift[i + s * r->c->recipes].all.error;
            weights[s] = r->drift[i + s * r->c->recipes].free;
        }
        hc_spread(gradient, r->seeds, &mean[0], &deviation[0]);
        hc_spread(weights, r->seeds, &mean[1], &deviation[1]);
        hc_comparison_label(r->c, i, label);
        hc_print(stdout, "%-*s %10.2e (%8.1e) %10.2e (%8.1e)\n", width, label, mean[0],
                 deviation[0], mean[1], deviation[1]);
    }
}

enum { LONGEST_LABEL = 48 };

static void draw_drift(const struct hc_drift_report *r)
{
    struct hc_plot_values *values = hc_plot_values();
    int layers = 0;
    for (int l = 0; l < r->plan.layers; l++)
        layers += r->plan.layer[l].parameter >= 0;
    hc_plot_integer(values, "per_layer", 0, layers + 1);
    hc_plot_integer(values, "synthetic", 0, r->c->training->set.synthetic);
    hc_plot_integer(values, "steps", 0, r->steps);
    int sources = 0;
    int many = r->c->recipes * r->parts;
    for (int k = 0; k < HC_SOURCE_COUNT; k++)
        sources += hc_drift_has_source(r, k);
    hc_plot_integer(values, "sources", 0, sources);
    hc_plot_integer(values, "many", 0, many);
    hc_plot_integer(values, "operands", 0, hc_drift_has_operands(r));
    hc_plot_array(values, "recipe_name", many);
    hc_plot_array(values, "recipe_tic", many);
    for (int i = 0; i < many; i++) {
        char ranks[32];
        char label[HC_COMPARED_LABEL + sizeof ranks];
        const struct hc_drift_report one = hc_drift_of_ranks(r, i / r->c->recipes);
        hc_comparison_label(r->c, i % r->c->recipes, label);
        (void)snprintf(label + strlen(label), sizeof ranks, "%s", over_ranks(&one, ranks));
        hc_plot_text(values, "recipe_name", i + 1, label, LONGEST_LABEL);
        hc_plot_tic(values, "recipe_tic", i + 1, label, LONGEST_LABEL);
    }
    if (hc_plot(hc_script("drift.gp"), values, r->folder) == HC_OK)
        hc_print_line(stdout, "pictures: %s/{attribution,layers%s}.{svg,png}", r->folder,
                      hc_drift_has_operands(r) ? ",operands" : "");
    else
        hc_print_line(stdout, "no pictures: %s", hc_message());
}

static int conclude_drift(const struct hc_drift_report *r)
{
    puts("");
    print_report(stdout, r);
    for (int part = 0; part < r->parts && r->seeds > 1; part++) {
        const struct hc_drift_report one = hc_drift_of_ranks(r, part);
        print_spreads(&one);
    }
    if (hc_drift_write(r) != HC_OK || keep_table(r) != HC_OK)
        return hc_complain_message();
    hc_training_print_fallback(r->c->training);
    (void)putchar('\n');
    struct hc_lines lines = {0};
    hc_lines_add(&lines,
                 "record: %s/record.json; table.txt, attribution.csv%s and layers.csv beside it",
                 r->folder, r->shares ? ", shares.csv, pairs.csv" : "");
    hc_print_folded(stdout, 0, 2, lines.text);
    draw_drift(r);
    return hc_drift_failures(r) == 0 ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

/* One seed of the report, on the backend of `t`. `first`: the shares of the first seed, whose
   players the others have; NULL: this is it, or nobody asked for shares. */
static enum hc_status measure_on(const struct hc_drift_report *r, const struct hc_training *t,
                                 struct hc_drift_shares (*first)[HC_DRIFT_QUANTITIES])
{
    struct hc_drift_options options = {.network = t->network,
                                       .data = &t->set,
                                       .backend = t->backend,
                                       .threads = t->threads,
                                       .batch = t->batch,
                                       .ranks = r->ranks,
                                       .steps = r->steps,
                                       .lr = t->max_lr / 10,
                                       .seed = r->seed};
    struct hc_drift_study *study;
    enum hc_status status = hc_drift_open(&study, &options);
    for (int i = 0; i < r->c->recipes && status == HC_OK; i++) {
        char label[HC_COMPARED_LABEL];
        if (hc_comparison_training(r->c, i) != t)
            continue;
        status = hc_drift_measure(study, r->c->recipe[i], &r->drift[i]);
        if (status == HC_OK && r->shares)
            status =
                hc_drift_measure_shares(study, &r->drift[i], first ? first[i] : NULL, r->shares[i]);
        char ranks[32];
        hc_comparison_label(r->c, i, label);
        if (status == HC_OK)
            printf("%s%s%s: %lld passes with its formats", label, r->of_seed, over_ranks(r, ranks),
                   (long long)r->drift[i].passes);
        if (status == HC_OK && r->shares)
            printf(", and %lld for shares", (long long)(r->shares[i][HC_DRIFT_OF_GRADIENT].passes +
                                                        r->shares[i][HC_DRIFT_OF_WEIGHTS].passes));
        if (status == HC_OK)
            puts("");
        (void)fflush(stdout);
    }
    hc_drift_close(study);
    return status;
}

/* The recipes of the first entries are one on each backend. */
static enum hc_status measure(const struct hc_drift_report *r,
                              struct hc_drift_shares (*first)[HC_DRIFT_QUANTITIES])
{
    int backends = r->c->training->backend_count > 1 ? r->c->training->backend_count : 1;
    enum hc_status status = HC_OK;
    for (int b = 0; b < backends && status == HC_OK; b++)
        status = measure_on(r, hc_comparison_training(r->c, b), first);
    return status;
}

int hc_drift_command(const struct hc_comparison *c, int steps, const char *folder)
{
    const struct hc_training *t = c->training;
    enum hc_status status = HC_OK;
    struct hc_drift_report r = {.c = c,
                                .folder = folder,
                                .steps = steps,
                                .seeds = c->seeds,
                                .seed = t->seed,
                                .parts = c->ranks_count > 0 ? c->ranks_count : 1,
                                .ranks = c->ranks[0]};
    hc_plan_make(t->network, t->set.classes, &r.plan);
    size_t drifts = (size_t)c->recipes * (size_t)(c->seeds * r.parts);
    r.drift = calloc(drifts, sizeof *r.drift);
    r.shares = c->shares ? calloc(drifts, sizeof *r.shares) : NULL;
    if (!r.drift || (c->shares && !r.shares))
        status = hc_fail(HC_NO_MEMORY, "no memory for the drift of %d recipes", c->recipes);
    for (int i = 0; i < r.parts * r.seeds && status == HC_OK; i++) {
        const struct hc_drift_report part = hc_drift_of_ranks(&r, i / r.seeds);
        const struct hc_drift_report one = hc_drift_of_seed(&part, i % r.seeds);
        status = measure(&one, i % r.seeds > 0 ? part.shares : NULL);
    }
    int result = status == HC_OK ? conclude_drift(&r) : hc_complain_message();
    free(r.drift);
    free(r.shares);
    return result;
}

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
