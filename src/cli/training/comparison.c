#include "cli/training/comparison.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/plot.h"
#include "cli/report/script.h"
#include "cli/statistics/power.h"
#include "op/text.h"
#include "op/typed.h"
#include "train/parallel/parallel.h"

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

/* One test image, or one byte that was to be told, in points; 0 if there are none. */
static double grain(const struct hc_comparison *c)
{
    const struct hc_gpt *gpt = c->training->network ? c->training->network->gpt : NULL;
    double labels = (double)c->training->set.test.count * (gpt ? gpt->length : 1);
    return labels > 0 ? 100 / labels : 0;
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

/* The recipes of a comparison: how they are named, how many seeds each gets, and on which backends
   it is trained. */

/* The training on each of several backends. */
static struct hc_training one_of_several[HC_MAX_BACKENDS];

void hc_comparison_part(const struct hc_training *t)
{
    for (int b = 0; b < t->backend_count; b++) {
        one_of_several[b] = *t;
        one_of_several[b].backend = t->several[b];
        one_of_several[b].backend_count = 0;
        one_of_several[b].among_several = true;
    }
}

/* The number of the backend that the base runs on: host, or the first. */
static int base_backend(const struct hc_training *t)
{
    for (int b = 0; b < t->backend_count; b++)
        if (strcmp(t->several[b]->name, "host") == 0)
            return b;
    return 0;
}

static bool chosen(const struct hc_comparison *c, const char *name)
{
    for (int i = 0; i < c->recipes; i++)
        if (strcmp(c->recipe[i]->name, name) == 0)
            return true;
    return false;
}

/* `name` is `length` bytes long. */
static enum hc_status choose(struct hc_comparison *c, const char *name, size_t length, int seeds)
{
    const struct hc_recipe *recipe = hc_training_recipe(c->training, name, length);
    if (recipe == NULL)
        return HC_INVALID;
    /* hc_drift_check_ranks does this for the batches that drift cuts. */
    if (!c->drift && hc_parallel_check(c->training->ranks > 1 ? c->training->ranks : 1, recipe,
                                       c->training->batch) != HC_OK)
        return HC_INVALID;
    if (chosen(c, recipe->name))
        return hc_fail(HC_INVALID, "recipe %s is named twice", recipe->name);
    int backends = c->training->backend_count > 1 ? c->training->backend_count : 1;
    if (c->recipes + backends > HC_MAX_COMPARED)
        return hc_fail(HC_INVALID, "compare takes at most %d recipes%s", HC_MAX_COMPARED,
                       backends > 1 ? " on all backends together" : "");
    if (c->recipes == 0 || strcmp(recipe->name, "fp32") == 0)
        c->base = c->recipes + base_backend(c->training);
    for (int b = 0; b < backends; b++) {
        c->on[c->recipes] = backends > 1 ? &one_of_several[b] : NULL;
        c->recipe[c->recipes] = recipe;
        c->seeds_of[c->recipes++] = seeds;
    }
    if (c->seeds < seeds)
        c->seeds = seeds;
    return HC_OK;
}

/* Chooses all that are not named yet, except tf32's on the CPU, where they are fp32's again. */
static enum hc_status choose_all(struct hc_comparison *c, int seeds)
{
    int count;
    enum hc_status status = HC_OK;
    const struct hc_recipe *recipes = hc_recipes(&count);
    bool host = c->training->backend->host_memory;
    for (int i = 0; i < count && status == HC_OK; i++)
        if (!chosen(c, recipes[i].name) && !(host && recipes[i].tf32))
            status = choose(c, recipes[i].name, strlen(recipes[i].name), seeds);
    return status;
}

/* `word` is R or R:N, and `length` bytes long; `seeds` stands for N where there is none. */
static enum hc_status choose_word(struct hc_comparison *c, const char *word, size_t length,
                                  int seeds)
{
    const char *colon = memchr(word, ':', length);
    size_t name = colon == NULL ? length : (size_t)(colon - word);
    if (colon != NULL) {
        char *end;
        long n = isdigit((unsigned char)colon[1]) ? strtol(colon + 1, &end, 10) : 0;
        if (n < 1 || n > HC_MAX_SEEDS || end != word + length)
            return hc_fail(HC_INVALID,
                           "--recipes takes R or R:SEEDS, with 1 to %d seeds, not '%.*s'",
                           HC_MAX_SEEDS, (int)length, word);
        seeds = (int)n;
    }
    return name == 3 && memcmp(word, "all", 3) == 0 ? choose_all(c, seeds)
                                                    : choose(c, word, name, seeds);
}

enum hc_status hc_comparison_choose(struct hc_comparison *c, const char *list, int seeds)
{
    if (list == NULL)
        return hc_fail(HC_INVALID, "compare needs --recipes; see: halfcheck list recipes");
    for (const char *at = list; at != NULL;) {
        const char *word;
        size_t length;
        enum hc_status status = hc_list_next("--recipes", list, &at, &word, &length);
        if (status == HC_OK)
            status = choose_word(c, word, length, seeds);
        if (status != HC_OK)
            return status;
    }
    if (c->recipes < 2 && !c->drift)
        return hc_fail(HC_INVALID, "compare needs two recipes or more");
    return HC_OK;
}

/* The pictures of a comparison, drawn from the files of its runs. */

enum { LONGEST_LABEL = 48, SHORT_LABEL = 26, SHORT_LINES = 4 };

static void set_recipes(struct hc_plot_values *values, const struct hc_comparison *c)
{
    static const char *const arrays[] = {"recipe_name", "recipe_short", "recipe_lines",
                                         "recipe_nan", "recipe_tic"};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        hc_plot_array(values, arrays[i], c->recipes);
    for (int r = 0; r < c->recipes; r++) {
        char nan[HC_NAN_TEXT];
        char label[HC_COMPARED_LABEL + HC_NAN_TEXT + 2];
        char name[HC_COMPARED_LABEL];
        hc_comparison_label(c, r, name);
        (void)hc_comparison_nan(c, r, nan);
        (void)snprintf(label, sizeof label, "%s%s%s", name, *nan ? ": " : "", nan);
        hc_plot_text(values, "recipe_name", r + 1, label, LONGEST_LABEL);
        hc_plot_integer(
            values, "recipe_lines", r + 1,
            hc_plot_folded(values, "recipe_short", r + 1, name, SHORT_LABEL, SHORT_LINES));
        hc_plot_text(values, "recipe_nan", r + 1, nan, LONGEST_LABEL);
        hc_plot_tic(values, "recipe_tic", r + 1, name, LONGEST_LABEL);
    }
}

/* The values that both scripts take (reports/compare.gp). The folder of seed s of recipe r is
   number r + (s - 1) * recipes. A seed that the recipe lacks has the folder of its first one,
   which is drawn twice in the same place then. */
static struct hc_plot_values *values_of(const struct hc_comparison *c)
{
    const struct hc_training_run *run;
    struct hc_plot_values *values = hc_plot_values();
    hc_plot_integer(values, "n", 0, c->recipes);
    hc_plot_integer(values, "base", 0, c->base + 1);
    hc_plot_integer(values, "seeds", 0, c->seeds);
    hc_plot_integer(values, "synthetic", 0, c->training->set.synthetic);
    set_recipes(values, c);
    hc_plot_array(values, "run_folder", c->recipes * c->seeds);
    for (int at = 0; at < c->recipes * c->seeds; at++) {
        char name[HC_COMPARED_LABEL + 40];
        int r = at % c->recipes;
        bool there = at / c->recipes < c->seeds_of[r];
        hc_comparison_folder(c, r, c->training->seed + (there ? (uint64_t)(at / c->recipes) : 0),
                             name, sizeof name);
        hc_plot_text(values, "run_folder", at + 1, name, sizeof name);
    }
    hc_plot_array(values, "recipe_of_run", c->recipes * c->seeds);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        hc_plot_integer(values, "recipe_of_run", i + 1, (run - c->run) % c->recipes + 1);
    return values;
}

void hc_comparison_draw(const struct hc_comparison *c, const char *folder)
{
    if (hc_plot(hc_script("compare.gp"), values_of(c), folder) == HC_OK &&
        hc_plot(hc_script("summary.gp"), values_of(c), folder) == HC_OK)
        hc_print_line(stdout, "pictures: %s/{curves,scale,gradients,summary}.{svg,png}", folder);
    else
        hc_print_line(stdout, "no pictures: %s", hc_message());
}
