#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cli/training/comparison.h"
#include "cli/training/machine_load.h"
#include "op/text.h"

/* A column of the table: a member of hc_train_result, times `factor`. */
struct column {
    const char *title;
    size_t offset;
    bool integer;
    double factor;
    const char *format;
    int width;
    bool spread; /* print the deviation across seeds in parentheses */
};

static const struct column columns[] = {
    {"accuracy %", offsetof(struct hc_train_result, accuracy), false, 100, "%.2f", 14, true},
    {"test loss", offsetof(struct hc_train_result, test_loss), false, 1, "%.4f", 17, true},
    {"train loss", offsetof(struct hc_train_result, train_loss), false, 1, "%.4f", 11, false},
    {"skipped", offsetof(struct hc_train_result, skipped), true, 1, "%.4g", 8, false},
    {"scale", offsetof(struct hc_train_result, final_scale), false, 1, "%.6g", 8, false},
    {"dW = 0 %", offsetof(struct hc_train_result, underflow), false, 100, "%.3f", 8, false},
    {"unscaled", offsetof(struct hc_train_result, unscaled), false, 100, "%.3f", 8, false},
    {"dY = 0 %", offsetof(struct hc_train_result, activation_underflow), false, 100, "%.3f", 8,
     false},
    {"unscaled", offsetof(struct hc_train_result, activation_unscaled), false, 100, "%.3f", 8,
     false},
    {"lost %", offsetof(struct hc_train_result, update_lost), false, 100, "%.2f", 7, false},
    {"MiB", offsetof(struct hc_train_result, memory), true, 1.0 / 1048576, "%.1f", 7, false},
    {"images/s", offsetof(struct hc_train_result, images_per_second), false, 1, "%.0f", 9, false},
};

enum { COLUMNS = sizeof columns / sizeof *columns, SPEED = COLUMNS - 1, MEMORY = SPEED - 1 };

static double member(const struct hc_train_result *result, const struct column *column)
{
    const char *at = (const char *)result + column->offset;
    double real;
    int64_t whole;
    memcpy(&real, at, sizeof real);
    memcpy(&whole, at, sizeof whole);
    if (column == &columns[MEMORY] && whole == 0)
        return (double)NAN;
    return column->factor * (column->integer ? (double)whole : real);
}

/* A run that ended with a loss that is not finite has a speed and a memory, and no other number. */
static bool has(const struct hc_train_result *result, const struct column *column)
{
    return !result->diverged || column >= &columns[MEMORY];
}

/* Mean and deviation over the runs that have the number. Returns how many have it. */
static int spread_of(const struct hc_comparison *c, int recipe, const struct column *column,
                     double *mean, double *deviation)
{
    double sum = 0;
    double squares = 0;
    int n = 0;
    for (int s = 0; s < c->seeds_of[recipe]; s++)
        if (has(&hc_comparison_run(c, recipe, s)->result, column)) {
            sum += member(&hc_comparison_run(c, recipe, s)->result, column);
            n++;
        }
    *mean = sum / n;
    for (int s = 0; s < c->seeds_of[recipe]; s++)
        if (has(&hc_comparison_run(c, recipe, s)->result, column)) {
            double x = member(&hc_comparison_run(c, recipe, s)->result, column) - *mean;
            squares += x * x;
        }
    *deviation = sqrt(squares / (n - 1));
    return n;
}

/* Whether one of the recipe's speeds was measured beside other work. */
static bool shared(const struct hc_comparison *c, int recipe)
{
    bool any = false;
    for (int s = 0; s < c->seeds_of[recipe]; s++)
        any |= hc_cpu_shared(hc_comparison_run(c, recipe, s)->others);
    return any;
}

static bool all_learnt(const struct hc_comparison *c, int recipe)
{
    bool learnt = true;
    for (int s = 0; s < c->seeds_of[recipe]; s++)
        learnt = learnt && hc_comparison_run(c, recipe, s)->result.learned;
    return learnt;
}

static int width_of(const struct hc_comparison *c, const struct column *column)
{
    return column->spread && c->seeds == 1 ? 10 : column->width;
}

static void print_cell(const struct hc_comparison *c, int recipe, const struct column *column,
                       FILE *out)
{
    char text[64];
    double mean;
    double deviation;
    int n = spread_of(c, recipe, column, &mean, &deviation);
    size_t used = (size_t)snprintf(text, sizeof text, column->format, fabs(mean));
    if (column->spread && n > 1 && !isnan(mean)) {
        text[used++] = ' ';
        text[used++] = '(';
        used += (size_t)snprintf(text + used, sizeof text - used, column->format, deviation);
        (void)snprintf(text + used, sizeof text - used, ")");
    }
    if (isnan(mean) && column >= &columns[MEMORY])
        (void)snprintf(text, sizeof text, "-");
    else if (column == &columns[SPEED] && shared(c, recipe))
        (void)snprintf(text, sizeof text, "%.0f*", mean);
    hc_print(out, " %*s", width_of(c, column), text);
}

/* The cells of a recipe. If all its runs ended in NaN, a text about that fills the columns that
   have no number. */
static void print_cells(const struct hc_comparison *c, int recipe, FILE *out)
{
    char lost[HC_NAN_TEXT];
    int from = 0;
    if (hc_comparison_nan(c, recipe, lost) == c->seeds_of[recipe]) {
        int width = 0;
        for (; from < MEMORY; from++)
            width += 1 + width_of(c, &columns[from]);
        hc_print(out, "  %-*s", width - 2, lost);
    }
    for (; from < COLUMNS; from++)
        print_cell(c, recipe, &columns[from], out);
}

static void print_recipe(const struct hc_comparison *c, int recipe, double base, FILE *out)
{
    double speed;
    double deviation;
    char label[HC_COMPARED_LABEL];
    hc_comparison_label(c, c->base, label);
    int width = (int)strlen(label) + 3;
    hc_comparison_label(c, recipe, label);
    hc_print(out, "%-*s %4d", hc_comparison_width(c), label, c->seeds_of[recipe]);
    print_cells(c, recipe, out);
    (void)spread_of(c, recipe, &columns[SPEED], &speed, &deviation);
    if (isnan(speed / base) || shared(c, recipe) || shared(c, c->base))
        hc_print(out, "  %*s", width, "-");
    else
        hc_print(out, "  %*.2f", width, speed / base);
    hc_print(out, "  %s\n", all_learnt(c, recipe) ? "PASS" : "FAIL");
}

static void print_recipes(const struct hc_comparison *c, FILE *out)
{
    char lost[HC_NAN_TEXT];
    double base;
    double deviation;
    char label[HC_COMPARED_LABEL];
    hc_print(out, "\n%-*s %4s", hc_comparison_width(c), "recipe", "runs");
    for (int i = 0; i < COLUMNS; i++)
        hc_print(out, " %*s", width_of(c, &columns[i]), columns[i].title);
    hc_comparison_label(c, c->base, label);
    hc_print(out, "  of %s  verdict\n", label);
    (void)spread_of(c, c->base, &columns[SPEED], &base, &deviation);
    for (int r = 0; r < c->recipes; r++)
        print_recipe(c, r, base, out);
    if (c->seeds > 1)
        hc_print(out, "Numbers are means over the runs; in parentheses is the standard deviation "
                      "across seeds.\n");
    bool any = false;
    for (int r = 0; r < c->recipes; r++)
        any |= shared(c, r);
    if (any)
        hc_print(out, "* was measured beside other work on this machine, so that no ratio is made "
                      "of it.\n");
    for (int r = 0; r < c->recipes; r++) {
        int n = hc_comparison_nan(c, r, lost);
        hc_comparison_label(c, r, label);
        if (n > 0 && n < c->seeds_of[r])
            hc_print(out, "%s: %s; its means are over the other runs\n", label, lost);
    }
}

static void print_pair(const struct hc_comparison *c, int recipe, FILE *out)
{
    char conclusion[HC_CONCLUSION_TEXT];
    char label[HC_COMPARED_LABEL];
    struct hc_difference test = hc_comparison_pairs(c, recipe).test;
    hc_comparison_conclusion(c, recipe, conclusion);
    hc_comparison_label(c, recipe, label);
    hc_print(out, "%-*s ", hc_comparison_width(c), label);
    if (test.n > 0)
        hc_print(out, "%+8.2f points   ", test.mean);
    hc_print(out, "%s%s\n", test.verdict == HC_DIFFERENT ? "FAIL: " : "", conclusion);
}

static void print_change(const struct hc_comparison *c, int recipe, FILE *out)
{
    char label[HC_COMPARED_LABEL];
    struct hc_backend_change change = hc_comparison_change(c, recipe);
    hc_comparison_label(c, recipe, label);
    hc_print(out, "%-*s ", hc_comparison_width(c), label);
    if (change.pairs == 0)
        hc_print(out, "no pair of runs has finite losses in both\n");
    else if (change.identical)
        hc_print(out, "identical: accuracy and losses are equal in %s\n",
                 change.pairs == 1 ? "the one pair" : "every pair");
    else
        hc_print(out, "%+8.2f points   test loss %+.3g   train loss %+.3g\n", change.accuracy,
                 change.test_loss, change.train_loss);
}

/* Each recipe on other backends against itself on the base's. */
static void print_changes(const struct hc_comparison *c, FILE *out)
{
    hc_print(out,
             "\nWhat the backend alone changes, against the same recipe on %s, in means over pairs "
             "of equal seed:\n",
             hc_comparison_training(c, c->base)->backend->name);
    for (int r = 0; r < c->recipes; r++)
        if (r != hc_comparison_counterpart(c, r))
            print_change(c, r, out);
}

void hc_comparison_print(const struct hc_comparison *c, FILE *out)
{
    char label[HC_COMPARED_LABEL];
    hc_comparison_label(c, c->base, label);
    print_recipes(c, out);
    if (c->recipes > 1)
        hc_print(out,
                 "\nAccuracy against %s, in pairs of equal seed. Equivalent means within %g "
                 "point%s, by two one-sided t tests at 5 %%.\n",
                 label, c->margin, c->margin == 1 ? "" : "s");
    for (int r = 0; r < c->recipes; r++)
        if (r != c->base)
            print_pair(c, r, out);
    if (c->training->backend_count > 1)
        print_changes(c, out);
    const struct hc_training_run *run;
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++) {
        hc_comparison_label(c, (int)((run - c->run) % c->recipes), label);
        if (!run->result.learned)
            hc_print(out, "FAIL  %s, seed %llu, did not learn: %s\n", label,
                     (unsigned long long)run->seed, run->result.reason);
    }
}
