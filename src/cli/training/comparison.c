#include "cli/training/comparison.h"

#include <math.h>
#include <string.h>

#include "cli/statistics/power.h"
#include "op/text.h"

const struct hc_training *hc_comparison_training(const struct hc_comparison *c, int recipe)
{
    return c->on[recipe] ? c->on[recipe] : c->training;
}

static bool has_several(const struct hc_comparison *c)
{
    return c->training->backend_count > 1;
}

void hc_comparison_label(const struct hc_comparison *c, int recipe, char text[HC_COMPARED_LABEL])
{
    const char *backend = hc_comparison_training(c, recipe)->backend->name;
    (void)snprintf(text, HC_COMPARED_LABEL, "%s%s%s", c->recipe[recipe]->name,
                   has_several(c) ? " on " : "", has_several(c) ? backend : "");
}

int hc_comparison_width(const struct hc_comparison *c)
{
    char label[HC_COMPARED_LABEL];
    size_t width = 22;
    for (int r = 0; r < c->recipes; r++) {
        hc_comparison_label(c, r, label);
        width = strlen(label) > width ? strlen(label) : width;
    }
    return (int)width;
}

int hc_comparison_counterpart(const struct hc_comparison *c, int recipe)
{
    int backends = has_several(c) ? c->training->backend_count : 1;
    return recipe / backends * backends + c->base % backends;
}

void hc_comparison_folder(const struct hc_comparison *c, int recipe, uint64_t seed, char *name,
                          size_t bytes)
{
    char label[HC_COMPARED_LABEL];
    hc_comparison_label(c, recipe, label);
    for (char *space; (space = strchr(label, ' ')) != NULL;)
        *space = '-';
    struct hc_recipe named = *c->recipe[recipe];
    named.name = label;
    hc_training_folder(&named, seed, name, bytes);
}

const struct hc_training_run *hc_comparison_run(const struct hc_comparison *c, int recipe, int seed)
{
    return &c->run[recipe + seed * c->recipes];
}

struct hc_training_run *hc_comparison_next(const struct hc_comparison *c, int i)
{
    for (int at = 0; at < c->recipes * c->seeds; at++)
        if (at / c->recipes < c->seeds_of[at % c->recipes] && i-- == 0)
            return &c->run[at];
    return NULL;
}

int hc_comparison_nan(const struct hc_comparison *c, int recipe, char text[HC_NAN_TEXT])
{
    long long first = 0;
    long long last = 0;
    int count = 0;
    bool nan = false;
    for (int s = 0; s < c->seeds_of[recipe]; s++) {
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
    if (count > 0 && count < c->seeds_of[recipe])
        used = snprintf(text, HC_NAN_TEXT, "%d of %d runs ", count, c->seeds_of[recipe]);
    if (count > 0 && first == last)
        (void)snprintf(text + used, HC_NAN_TEXT - (size_t)used, "%s from step %lld", what, first);
    else if (count > 0)
        (void)snprintf(text + used, HC_NAN_TEXT - (size_t)used, "%s from step %lld to %lld", what,
                       first, last);
    return count;
}

/* A pair counts where both runs came to their end with finite losses. */
static bool are_pair(const struct hc_train_result *a, const struct hc_train_result *b)
{
    return a->finished && b->finished && !a->diverged && !b->diverged;
}

static bool are_identical(const struct hc_train_result *a, const struct hc_train_result *b)
{
    return a->accuracy == b->accuracy && a->test_loss == b->test_loss &&
           a->train_loss == b->train_loss;
}

/* One test image, in points; 0 if there are none. */
static double grain(const struct hc_comparison *c)
{
    double images = (double)c->training->set.test.count;
    return images > 0 ? 100 / images : 0;
}

struct hc_recipe_pairs hc_comparison_pairs(const struct hc_comparison *c, int recipe)
{
    double subject[HC_MAX_SEEDS] = {0};
    double base[HC_MAX_SEEDS] = {0};
    int n = 0;
    bool identical = true;
    for (int s = 0; s < c->seeds_of[recipe] && s < c->seeds_of[c->base]; s++) {
        const struct hc_train_result *a = &hc_comparison_run(c, recipe, s)->result;
        const struct hc_train_result *b = &hc_comparison_run(c, c->base, s)->result;
        if (!are_pair(a, b))
            continue;
        identical = identical && are_identical(a, b);
        subject[n] = 100 * a->accuracy;
        base[n++] = 100 * b->accuracy;
    }
    struct hc_equivalence_question question = {.margin = c->margin, .grain = grain(c)};
    struct hc_recipe_pairs pairs = {.test = hc_paired(subject, base, n, &question),
                                    .identical = n > 0 && identical};
    if (pairs.identical && n > 1)
        pairs.test.verdict = HC_EQUIVALENT;
    return pairs;
}

struct hc_backend_change hc_comparison_change(const struct hc_comparison *c, int recipe)
{
    struct hc_backend_change change = {.identical = true};
    int other = hc_comparison_counterpart(c, recipe);
    for (int s = 0; s < c->seeds_of[recipe] && s < c->seeds_of[other]; s++) {
        const struct hc_train_result *a = &hc_comparison_run(c, recipe, s)->result;
        const struct hc_train_result *b = &hc_comparison_run(c, other, s)->result;
        if (!are_pair(a, b))
            continue;
        change.pairs++;
        change.identical = change.identical && are_identical(a, b);
        change.accuracy += 100 * (a->accuracy - b->accuracy);
        change.test_loss += a->test_loss - b->test_loss;
        change.train_loss += a->train_loss - b->train_loss;
    }
    change.identical = change.identical && change.pairs > 0;
    change.accuracy /= change.pairs;
    change.test_loss /= change.pairs;
    change.train_loss /= change.pairs;
    return change;
}

/* Pairs that show equivalence four times in five, if there is no difference. */
static int pairs_needed(const struct hc_comparison *c, double deviation)
{
    struct hc_plan_of_runs plan = {
        .margin = c->margin, .deviation = deviation, .power = 0.8, .level = 0.05, .paired = 1};
    return hc_runs_needed(&plan);
}

void hc_comparison_conclusion(const struct hc_comparison *c, int recipe,
                              char text[HC_CONCLUSION_TEXT])
{
    static const char *const words[] = {
        [HC_EQUIVALENT] = "equivalent", [HC_DIFFERENT] = "different", [HC_UNDECIDED] = "undecided"};
    struct hc_recipe_pairs pairs = hc_comparison_pairs(c, recipe);
    const struct hc_difference *t = &pairs.test;
    if (t->n == 0)
        (void)snprintf(text, HC_CONCLUSION_TEXT, "no pair of runs has finite losses in both");
    else if (pairs.identical)
        (void)snprintf(text, HC_CONCLUSION_TEXT, "identical: accuracy and losses are equal in %s",
                       t->n == 1 ? "the one pair" : "every pair");
    else if (t->n == 1)
        (void)snprintf(text, HC_CONCLUSION_TEXT, "one pair decides nothing: use --seeds 3 or more");
    else if (t->deviation == 0)
        (void)snprintf(text, HC_CONCLUSION_TEXT, "%s: the difference is the same in all %d pairs",
                       words[t->verdict], t->n);
    else
        (void)hc_text_write(text, HC_CONCLUSION_TEXT,
                            "%s: %d pairs, 90 %% interval %+.2f .. %+.2f, p %.2g",
                            words[t->verdict], t->n, t->low, t->high, t->p);
    size_t used = strlen(text);
    int needed = t->n > 1 && t->verdict == HC_UNDECIDED ? pairs_needed(c, t->deviation) : 0;
    if (needed > t->n) /* it can be less if the recipes differ by about the margin */
        (void)snprintf(text + used, HC_CONCLUSION_TEXT - used, "; about %d pairs could decide",
                       needed);
}

int hc_comparison_failures(const struct hc_comparison *c)
{
    int failures = 0;
    const struct hc_training_run *run;
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        failures += !run->result.learned;
    for (int r = 0; r < c->recipes; r++)
        failures += r != c->base && hc_comparison_pairs(c, r).test.verdict == HC_DIFFERENT;
    return failures;
}
