/* What a comparison prints, and the files that it leaves: record.json, runs.csv, table.txt. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "check/record/facts.h"
#include "check/record/json.h"
#include "check/record/record.h"
#include "cli/lines.h"
#include "cli/training/comparison.h"
#include "cli/training/machine_load.h"
#include "cli/training/training_record.h"
#include "op/output.h"
#include "op/text.h"
#include "op/wrap.h"

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

/* Columns that stand beside each other. One part has all of them, unless the terminal is narrower:
   then several tables stand one below the other. */
struct part {
    int from, to;
    bool first; /* with the runs and the verdict */
    bool last;  /* with the speed of the base's */
};

/* The cells of a recipe. If all its runs ended in NaN, a text about that fills the columns that
   have no number. */
static void print_cells(const struct hc_comparison *c, int recipe, const struct part *part,
                        FILE *out)
{
    char lost[HC_NAN_TEXT];
    int from = part->from;
    if (hc_comparison_nan(c, recipe, lost) == c->seeds_of[recipe]) {
        int width = 0;
        for (; from < part->to && from < MEMORY; from++)
            width += 1 + width_of(c, &columns[from]);
        if (width)
            hc_print(out, "  %-*s", width - 2, lost);
    }
    for (; from < part->to; from++)
        print_cell(c, recipe, &columns[from], out);
}

static void print_recipe(const struct hc_comparison *c, int recipe, double base,
                         const struct part *part, FILE *out)
{
    double speed;
    double deviation;
    char label[HC_COMPARED_LABEL];
    hc_comparison_label(c, c->base, label);
    int width = (int)strlen(label) + 3;
    hc_comparison_label(c, recipe, label);
    hc_print(out, "%-*s", hc_comparison_width(c), label);
    if (part->first)
        hc_print(out, " %4d", c->seeds_of[recipe]);
    print_cells(c, recipe, part, out);
    (void)spread_of(c, recipe, &columns[SPEED], &speed, &deviation);
    if (part->last && (isnan(speed / base) || shared(c, recipe) || shared(c, c->base)))
        hc_print(out, "  %*s", width, "-");
    else if (part->last)
        hc_print(out, "  %*.2f", width, speed / base);
    if (part->first)
        hc_print(out, "  %s", all_learnt(c, recipe) ? "PASS" : "FAIL");
    hc_print(out, "\n");
}

static void print_part(const struct hc_comparison *c, const struct part *part, FILE *out)
{
    double base;
    double deviation;
    char label[HC_COMPARED_LABEL];
    hc_print(out, "\n%-*s", hc_comparison_width(c), "recipe");
    if (part->first)
        hc_print(out, " %4s", "runs");
    for (int i = part->from; i < part->to; i++)
        hc_print(out, " %*s", width_of(c, &columns[i]),
                 i == SPEED && c->training->network->gpt ? "pieces/s" : columns[i].title);
    hc_comparison_label(c, c->base, label);
    if (part->last)
        hc_print(out, "  of %s", label);
    if (part->first)
        hc_print(out, "  verdict");
    hc_print(out, "\n");
    (void)spread_of(c, c->base, &columns[SPEED], &base, &deviation);
    for (int r = 0; r < c->recipes; r++)
        print_recipe(c, r, base, part, out);
}

/* The part that begins with that column: as many as a terminal of 80 columns or more has room for.
   "unscaled" stays beside the column that it is about. */
static struct part part_from(const struct hc_comparison *c, int from, FILE *out)
{
    enum { RUNS = 5, VERDICT = 9 };
    char label[HC_COMPARED_LABEL];
    hc_comparison_label(c, c->base, label);
    int ratio = (int)strlen(label) + 5;
    int columns_there = hc_terminal_columns(out, 0);
    bool narrow = columns_there > 0;
    int room = (columns_there < HC_COLUMNS ? HC_COLUMNS : columns_there) - hc_comparison_width(c);
    struct part part = {.from = from, .to = from, .first = from == 0};
    room -= part.first ? RUNS + VERDICT : 0;
    do {
        room -= 1 + width_of(c, &columns[part.to]) + (part.to == SPEED ? ratio : 0);
        part.to++;
    } while (part.to < COLUMNS &&
             (!narrow || room > width_of(c, &columns[part.to]) + (part.to == SPEED ? ratio : 0)));
    bool belongs = part.to < COLUMNS && strcmp(columns[part.to].title, "unscaled") == 0;
    part.to -= belongs && part.to > from + 1;
    part.last = part.to == COLUMNS;
    return part;
}

static void print_recipes(const struct hc_comparison *c, FILE *out)
{
    char lost[HC_NAN_TEXT];
    char label[HC_COMPARED_LABEL];
    for (struct part part = {0}; part.to < COLUMNS;) {
        part = part_from(c, part.to, out);
        print_part(c, &part, out);
    }
    if (c->seeds > 1)
        hc_print_folded(
            out, 0, 0,
            "Numbers are means over the runs; in parentheses is the standard deviation across "
            "seeds.");
    bool any = false;
    for (int r = 0; r < c->recipes; r++)
        any |= shared(c, r);
    if (any)
        hc_print_folded(
            out, 0, 0,
            "* was measured beside other work on this machine, so that no ratio is made of "
            "it.");
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
    int width = hc_comparison_width(c) + 1;
    char text[HC_CONCLUSION_TEXT + 8];
    hc_print(out, "%-*s", width, label);
    int column =
        width + (test.n > 0 ? snprintf(text, sizeof text, "%+8.2f points   ", test.mean) : 0);
    if (test.n > 0)
        hc_print(out, "%s", text);
    (void)snprintf(text, sizeof text, "%s%s", test.verdict == HC_DIFFERENT ? "FAIL: " : "",
                   conclusion);
    hc_print_folded(out, column, width, text);
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
    char line[HC_COMPARED_LABEL + 256];
    print_recipes(c, out);
    (void)hc_text_write(line, sizeof line,
                        "Accuracy against %s, in pairs of equal seed. Equivalent means within "
                        "%g point%s, by two one-sided t tests at 5 %%.",
                        label, c->margin, c->margin == 1 ? "" : "s");
    if (c->recipes > 1) {
        hc_print(out, "\n");
        hc_print_folded(out, 0, 0, line);
    }
    for (int r = 0; r < c->recipes; r++)
        if (r != c->base)
            print_pair(c, r, out);
    if (c->training->backend_count > 1)
        print_changes(c, out);
    const struct hc_training_run *run;
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++) {
        hc_comparison_label(c, (int)((run - c->run) % c->recipes), label);
        (void)hc_text_write(line, sizeof line, "FAIL  %s, seed %llu, did not learn: %s", label,
                            (unsigned long long)run->seed, run->result.reason);
        if (!run->result.learned)
            hc_print_folded(out, 0, 6, line);
    }
}

static void add_pair(json_t *record, const struct hc_comparison *c, int recipe)
{
    static const enum hc_verdict verdicts[] = {
        [HC_EQUIVALENT] = HC_PASS, [HC_DIFFERENT] = HC_FAIL, [HC_UNDECIDED] = HC_SKIPPED};
    char name[512];
    char note[512];
    char repro[HC_TRAINING_REPRO + 512];
    char options[HC_TRAINING_REPRO];
    char ranks[32] = "";
    struct hc_difference d = hc_comparison_pairs(c, recipe).test;
    bool several = c->training->backend_count > 1;
    (void)snprintf(name, sizeof name, "compare/%s-as-%s%s%s", c->recipe[recipe]->name,
                   c->recipe[c->base]->name, several ? "-on-" : "",
                   several ? hc_comparison_training(c, c->base)->backend->name : "");
    char lost[HC_NAN_TEXT] = "";
    char conclusion[HC_CONCLUSION_TEXT];
    bool worse = hc_comparison_nan(c, c->base, lost) == 0 && hc_comparison_nan(c, recipe, lost) > 0;
    hc_comparison_conclusion(c, recipe, conclusion);
    (void)snprintf(note, sizeof note, "%s%s%s", lost, *lost ? "; " : "", conclusion);
    if (d.n > 0)
        (void)hc_text_write(note, sizeof note, "%s%smean difference %+.2f points, %s", lost,
                            *lost ? "; " : "", d.mean, conclusion);
    hc_training_repro(c->training, options, sizeof options);
    bool same = c->recipe[c->base] == c->recipe[recipe];
    if (c->training->ranks > 1)
        (void)snprintf(ranks, sizeof ranks, "mpirun -n %d ", c->training->ranks);
    (void)snprintf(repro, sizeof repro,
                   "%shalfcheck compare --recipes %s%s%s --seeds %d --seed %llu --margin %g%s",
                   ranks, c->recipe[c->base]->name, same ? "" : ",",
                   same ? "" : c->recipe[recipe]->name, c->seeds_of[recipe],
                   (unsigned long long)c->training->seed, c->margin, options);
    struct hc_row row =
        hc_row_claim(name, hc_comparison_training(c, recipe)->backend->name,
                     worse ? HC_FAIL : verdicts[d.verdict], fabs(d.mean), c->margin, "points");
    row.checked = d.n;
    row.seed = c->training->seed;
    row.note = note;
    row.repro = repro;
    hc_record_add(record, &row);
}

/* JSON has no NaN, of which there is one without pairs. */
static void add_changes(json_t *record, const struct hc_comparison *c)
{
    json_t *alone = json_array();
    for (int r = 0; r < c->recipes; r++) {
        int other = hc_comparison_counterpart(c, r);
        struct hc_backend_change change = hc_comparison_change(c, r);
        if (r != other)
            (void)json_array_append_new(
                alone,
                json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "recipe", c->recipe[r]->name,
                          "backend", hc_comparison_training(c, r)->backend->name, "against",
                          hc_comparison_training(c, other)->backend->name, "pairs", change.pairs,
                          "accuracy", hc_json_real(change.accuracy), "test_loss",
                          hc_json_real(change.test_loss), "train_loss",
                          hc_json_real(change.train_loss)));
    }
    if (json_array_size(alone) > 0)
        (void)json_object_set(record, "backends_alone", alone);
    json_decref(alone);
}

static enum hc_status write_record(const struct hc_comparison *c, const char *folder)
{
    char path[1100];
    const struct hc_training_run *run;
    json_t *record = hc_record_new();
    hc_record_describe(record, c->training->backend, NULL);
    for (int i = 1; i < c->training->backend_count; i++)
        hc_record_describe(record, c->training->several[i], NULL);
    hc_training_set_invocation(record, c->training);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        hc_training_add(record, hc_comparison_training(c, (int)((run - c->run) % c->recipes)), run);
    for (int r = 0; r < c->recipes; r++)
        if (r != c->base)
            add_pair(record, c, r);
    add_changes(record, c);
    (void)json_object_set_new(record, "training", hc_training_settings(c->training));
    (void)snprintf(path, sizeof path, "%s/record.json", folder);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

static void print_runs(FILE *file, const void *context)
{
    const struct hc_comparison *c = context;
    const struct hc_training_run *run;
    bool several = c->training->backend_count > 1;
    (void)fputs(
        "recipe,seed,learned,nan_from,accuracy,test_loss,train_loss,skipped,final_scale,underflow,"
        "unscaled,activation_underflow,activation_unscaled,update_lost,memory,"
        "images_per_second",
        file);
    (void)fputs(several ? ",backend\n" : "\n", file);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++) {
        const struct hc_train_result *r = &run->result;
        hc_print(file,
                 "%s,%llu,%d,%lld,%.9g,%.9g,%.9g,%lld,%.17g,%.6g,%.6g,%.6g,%.6g,%.6g,%lld,%.6g",
                 run->recipe->name, (unsigned long long)run->seed, r->learned,
                 r->diverged ? (long long)r->nan_from : -1, r->accuracy, r->test_loss,
                 r->train_loss, (long long)r->skipped, r->final_scale, r->underflow, r->unscaled,
                 r->activation_underflow, r->activation_unscaled, r->update_lost,
                 (long long)r->memory, r->images_per_second);
        int at = (int)((run - c->run) % c->recipes);
        hc_print(file, "%s%s\n", several ? "," : "",
                 several ? hc_comparison_training(c, at)->backend->name : "");
    }
}

static void print_table(FILE *out, const void *comparison)
{
    hc_comparison_print(comparison, out);
}

static enum hc_status print_file(const struct hc_comparison *c, const char *folder,
                                 const char *name, void (*print)(FILE *out, const void *comparison))
{
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return hc_output_print(path, print, c);
}

enum hc_status hc_comparison_write(const struct hc_comparison *c, const char *folder)
{
    enum hc_status status = write_record(c, folder);
    if (status == HC_OK)
        status = print_file(c, folder, "runs.csv", print_runs);
    return status == HC_OK ? print_file(c, folder, "table.txt", print_table) : status;
}
