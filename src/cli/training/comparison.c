#include "cli/training/comparison.h"

#include <math.h>
#include <string.h>

#include "check/record/facts.h"
#include "check/record/record.h"
#include "cli/training/training_record.h"
#include "op/output.h"
#include "op/text.h"

const struct hc_training_run *hc_comparison_run(const struct hc_comparison *c, int recipe, int seed)
{
    return &c->run[recipe + seed * c->recipes];
}

struct hc_training_run *hc_comparison_next(const struct hc_comparison *c, int i)
{
    for (int at = 0; at < c->recipes * c->seeds; at++)
        if (at / c->recipes < c->of[at % c->recipes] && i-- == 0)
            return &c->run[at];
    return NULL;
}

int hc_comparison_nan(const struct hc_comparison *c, int recipe, char text[HC_NAN_TEXT])
{
    long long first = 0;
    long long last = 0;
    int count = 0;
    bool nan = false;
    for (int s = 0; s < c->of[recipe]; s++) {
        const struct hc_train_result *r = &hc_comparison_run(c, recipe, s)->result;
        if (!r->diverged)
            continue;
        first = count == 0 || r->nan_from < first ? r->nan_from : first;
        last = count == 0 || r->nan_from > last ? r->nan_from : last;
        nan |= isnan(r->train_loss) != 0;
        count++;
    }
    const char *what = nan ? "NaN" : "infinite";
    int used = 0;
    text[0] = '\0';
    if (count > 0 && count < c->of[recipe])
        used = snprintf(text, HC_NAN_TEXT, "%d of %d runs ", count, c->of[recipe]);
    if (count > 0 && first == last)
        (void)snprintf(text + used, HC_NAN_TEXT - (size_t)used, "%s from step %lld", what, first);
    else if (count > 0)
        (void)snprintf(text + used, HC_NAN_TEXT - (size_t)used, "%s from step %lld to %lld", what,
                       first, last);
    return count;
}

struct hc_paired hc_comparison_pairs(const struct hc_comparison *c, int recipe)
{
    double subject[HC_MAX_SEEDS];
    double base[HC_MAX_SEEDS];
    int n = 0;
    for (int s = 0; s < c->of[recipe] && s < c->of[c->base]; s++) {
        const struct hc_train_result *a = &hc_comparison_run(c, recipe, s)->result;
        const struct hc_train_result *b = &hc_comparison_run(c, c->base, s)->result;
        if (!a->finished || !b->finished || a->diverged || b->diverged)
            continue;
        subject[n] = 100 * a->accuracy;
        base[n++] = 100 * b->accuracy;
    }
    return hc_paired(subject, base, n, c->margin);
}

int hc_comparison_failures(const struct hc_comparison *c)
{
    int failures = 0;
    const struct hc_training_run *run;
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        failures += !run->result.learned;
    for (int r = 0; r < c->recipes; r++)
        failures += r != c->base && hc_comparison_pairs(c, r).verdict == HC_DIFFERENT;
    return failures;
}

static void note_of(const struct hc_comparison *c, const struct hc_paired *d, char *text,
                    size_t bytes)
{
    if (d->n == 0)
        (void)snprintf(text, bytes, "no pair of runs in which both losses stayed finite");
    else if (d->n < 2)
        (void)snprintf(text, bytes, "%d pair of runs decides nothing; --seeds 3 or more", d->n);
    else
        (void)hc_text_write(
            text, bytes,
            "mean difference %+.2f points, 90 %% interval %+.2f .. %+.2f, %d pairs, TOST "
            "p = %.2g%s",
            d->mean, d->low, d->high, d->n, d->p, d->verdict == HC_UNDECIDED ? ": undecided" : "");
    size_t used = strlen(text);
    if (d->n >= 2 && d->verdict == HC_UNDECIDED)
        (void)snprintf(text + used, bytes - used, ", about %d pairs could decide",
                       hc_pairs_needed(d->deviation, c->margin));
}

static void add_pair(json_t *record, const struct hc_comparison *c, int recipe)
{
    static const enum hc_verdict verdicts[] = {
        [HC_EQUIVALENT] = HC_PASS, [HC_DIFFERENT] = HC_FAIL, [HC_UNDECIDED] = HC_SKIPPED};
    char name[512];
    char note[512];
    char repro[2304];
    char options[2048];
    struct hc_paired d = hc_comparison_pairs(c, recipe);
    (void)snprintf(name, sizeof name, "compare/%s-as-%s", c->recipe[recipe]->name,
                   c->recipe[c->base]->name);
    char lost[HC_NAN_TEXT] = "";
    char words[256];
    bool worse = hc_comparison_nan(c, c->base, lost) == 0 && hc_comparison_nan(c, recipe, lost) > 0;
    note_of(c, &d, words, sizeof words);
    (void)snprintf(note, sizeof note, "%s%s%s", lost, *lost ? "; " : "", words);
    hc_training_repro(c->training, options, sizeof options);
    (void)snprintf(repro, sizeof repro,
                   "halfcheck compare --recipes %s,%s --seeds %d --seed %llu --margin %g%s",
                   c->recipe[c->base]->name, c->recipe[recipe]->name, c->of[recipe],
                   (unsigned long long)c->training->seed, c->margin, options);
    struct hc_row row = {.name = name,
                         .backend = c->training->backend->name,
                         .verdict = worse ? HC_FAIL : verdicts[d.verdict],
                         .checked = d.n,
                         .error = fabs(d.mean),
                         .bound = c->margin,
                         .unit = "points",
                         .implementation = (double)NAN,
                         .line = (double)NAN,
                         .format = (double)NAN,
                         .seed = c->training->seed,
                         .note = note,
                         .repro = repro};
    hc_record_add(record, &row);
}

enum hc_status hc_comparison_write(const struct hc_comparison *c, const char *folder)
{
    char path[1100];
    const struct hc_training_run *run;
    json_t *record = hc_record_new();
    hc_record_describe(record, c->training->backend, NULL);
    hc_training_set_invocation(record, c->training);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        hc_training_add(record, c->training, run);
    for (int r = 0; r < c->recipes; r++)
        if (r != c->base)
            add_pair(record, c, r);
    (void)json_object_set_new(record, "training", hc_training_settings(c->training));
    (void)snprintf(path, sizeof path, "%s/record.json", folder);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

static void print_rows(FILE *file, const void *context)
{
    const struct hc_comparison *c = context;
    const struct hc_training_run *run;
    (void)fputs(
        "recipe,seed,learned,nan_from,accuracy,test_loss,train_loss,skipped,final_scale,underflow,"
        "unscaled,activation_underflow,activation_unscaled,update_lost,memory,"
        "images_per_second\n",
        file);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++) {
        const struct hc_train_result *r = &run->result;
        hc_print(file,
                 "%s,%llu,%d,%lld,%.9g,%.9g,%.9g,%lld,%.17g,%.6g,%.6g,%.6g,%.6g,%.6g,%lld,%.6g\n",
                 run->recipe->name, (unsigned long long)run->seed, r->learned,
                 r->diverged ? (long long)r->nan_from : -1, r->accuracy, r->test_loss,
                 r->train_loss, (long long)r->skipped, r->final_scale, r->underflow, r->unscaled,
                 r->activation_underflow, r->activation_unscaled, r->update_lost,
                 (long long)r->memory, r->images_per_second);
    }
}

enum hc_status hc_comparison_rows(const struct hc_comparison *c, const char *folder)
{
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/runs.csv", folder);
    return hc_output_print(path, print_rows, c);
}
