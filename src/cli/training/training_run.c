/* One run of one recipe: its progress on the terminal, the training, and in its place the search
   for a learning rate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/record/environment.h"
#include "check/record/facts.h"
#include "check/timing.h"
#include "cli/colour.h"
#include "cli/lines.h"
#include "cli/ranks/ranks.h"
#include "cli/report/plot.h"
#include "cli/report/script.h"
#include "cli/stop.h"
#include "cli/training/folder.h"
#include "cli/training/machine_load.h"
#include "cli/training/training.h"
#include "cli/training/training_record.h"
#include "op/text.h"
#include "op/wrap.h"
#include "train/run/lr_find.h"
#include "train/run/trainer.h"
#include "train/update/recipe_fields.h"

struct progress_bar {
    const char *recipe;
    const char *unit; /* of what is trained on */
    uint64_t seed;
    bool terminal; /* stderr is one: draw a bar there */
    double drawn;  /* when it was last drawn, hc_clock() */
    double started;
    int64_t first; /* steps that were done before */
};

enum { CELLS = 16 };

static struct progress_bar progress_bar(const struct hc_training *t, const char *recipe,
                                        uint64_t seed)
{
    return (struct progress_bar){.recipe = recipe,
                                 .unit = t->network->gpt ? "pieces" : "images",
                                 .seed = seed,
                                 .terminal = hc_terminal_draws(stderr),
                                 .first = -1};
}

/* Removes the bar. */
static void progress_end(struct progress_bar *bar)
{
    if (bar->terminal && bar->drawn > 0)
        hc_terminal_clear(stderr);
    bar->drawn = 0;
}

static void draw_bar(struct progress_bar *bar, const struct hc_progress *p)
{
    double now = hc_clock();
    char cells[CELLS + 1];
    char left[32] = "";
    if (bar->first < 0) {
        bar->first = p->step;
        bar->started = now;
    }
    if (now - bar->drawn < 0.1)
        return;
    int full = (int)(CELLS * p->step / p->steps);
    for (int i = 0; i < CELLS; i++)
        cells[i] = i < full ? '#' : '.';
    cells[CELLS] = '\0';
    if (now - bar->started > 2 && p->step > bar->first) {
        double each = (now - bar->started) / (double)(p->step - bar->first);
        int seconds = (int)(each * (double)(p->steps - p->step));
        (void)snprintf(left, sizeof left, " %d:%02d left", seconds / 60, seconds % 60);
    }
    char line[256];
    (void)hc_text_write(line, sizeof line, "%s [%s] %d/%d%s loss %.3f scale %g %.0f %s/s",
                        bar->recipe, cells, p->epoch + 1, p->epochs, left, p->smooth, p->scale,
                        p->images_per_second, bar->unit);
    hc_terminal_redraw(stderr, line);
    bar->drawn = now;
}

/* One line, whose order programs know, or on a terminal two that fit. */
static void print_epoch(const struct progress_bar *bar, const struct hc_progress *p)
{
    bool folds = hc_terminal_columns(stdout, 0) != 0;
    char accuracy[32];
    (void)snprintf(accuracy, sizeof accuracy, "accuracy %6.2f %%", 100 * p->accuracy);
    hc_print(stdout, "%-22s seed %-3llu epoch %d/%d  loss %.4f  ", bar->recipe,
             (unsigned long long)bar->seed, p->epoch + 1, p->epochs, p->smooth);
    if (folds)
        hc_print(stdout, "%s\n%22s ", accuracy, "");
    hc_print(stdout, "test loss %.4f  ", p->test_loss);
    if (!folds)
        hc_print(stdout, "%s  ", accuracy);
    hc_print(stdout, "scale %g  skipped %lld  %.0f %s/s\n", p->scale, (long long)p->skipped,
             p->images_per_second, bar->unit);
}

/* The callback of hc_train_options; `context` is the bar. Prints a line on stdout after each
   evaluation, and draws the bar in between, on a terminal. */
static bool progress_show(const struct hc_progress *p, void *context)
{
    struct progress_bar *bar = context;
    if (bar->terminal)
        draw_bar(bar, p);
    if (!p->evaluated)
        return hc_stop_signal() == 0;
    progress_end(bar);
    print_epoch(bar, p);
    (void)fflush(stdout);
    return hc_stop_signal() == 0;
}

/* One run of one recipe. */

static void print_note(const char *line, void *context)
{
    (void)context;
    printf("loaded    ");
    hc_text_line(stdout, line);
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* What is left to do when the training has ended. */
static enum hc_status keep(const struct hc_training *t, struct hc_training_run *run, json_t *facts,
                           enum hc_status status)
{
    if (status == HC_OK && hc_stop_signal() && !run->result.finished)
        status = hc_fail(HC_INVALID,
                         "stopped by signal %d after step %lld of %s, seed %llu; the same command "
                         "with --resume goes on from there",
                         hc_stop_signal(), (long long)run->result.steps, run->recipe->name,
                         (unsigned long long)run->seed);
    /* A run that was over before has trained nothing now: what it measured then stays. */
    if (status == HC_OK && run->resume && !isfinite(run->result.images_per_second))
        hc_training_recall(run);
    if (status == HC_OK)
        status = hc_training_write(t, run, facts);
    return status;
}

enum hc_status hc_training_run(const struct hc_training *t, struct hc_training_run *run)
{
    char label[HC_RECIPE_NAME + HC_BACKEND_NAMES];
    (void)snprintf(label, sizeof label, "%s%s%s", run->recipe->name, t->among_several ? " on " : "",
                   t->among_several ? t->backend->name : "");
    struct progress_bar bar = progress_bar(t, label, run->seed);
    struct hc_train_options options = {
        .recipe = run->recipe,
        .network = t->network,
        .data = &t->set,
        .backend = t->backend,
        .threads = t->threads > 0 || !hc_ranks_several() ? t->threads : hc_ranks_cores(),
        .epochs = t->epochs,
        .batch = t->batch,
        .max_lr = t->max_lr,
        .seed = run->seed,
        .out = run->folder,
        .resume = run->resume,
        .checkpoint_every = t->checkpoint_every,
        .measure_every = t->measure_every,
        .dumps = t->dumps,
        .dump_count = t->dump_count,
        .load = t->load,
        .note = print_note,
        .producer = hc_release(),
        .progress = progress_show,
        .context = &bar,
        .keep_when_stopped = true,
        .tell = hc_facts_add,
        .told = json_object(),
        .comm = t->alone ? NULL : hc_ranks()->comm};
    int lock = -1;
    bool writes = t->alone || hc_ranks_speaks();
    hc_stop_on_request();
    enum hc_status status = writes ? hc_folder_lock(run->folder, &lock) : HC_OK;
    status = t->alone ? status : hc_ranks_agree("folder", status, NULL, 0);
    struct hc_cpu_time begun = hc_cpu_time();
    if (status == HC_OK)
        status = t->ranks > 1 && !hc_ranks_several()
                     ? hc_train_ranks(&options, t->ranks, &run->result)
                     : hc_train(&options, &run->result);
    /* Ranks that are processes of their own look like others to each other. */
    run->others = hc_ranks_several() ? (double)NAN : hc_cpu_others(begun, hc_cpu_time());
    progress_end(&bar);
    if (writes)
        status = keep(t, run, options.told, status);
    status = t->alone ? status : hc_ranks_agree("results", status, NULL, 0);
    hc_folder_unlock(lock);
    json_decref(options.told);
    return status;
}

enum { LONGEST_LABEL = 48 };

static void draw_losses(const struct hc_training *t, const struct hc_training_run *run,
                        const struct hc_lr_found *found)
{
    struct hc_plot_values *values = hc_plot_values();
    hc_plot_text(values, "recipe", 0, run->recipe->name, LONGEST_LABEL);
    hc_plot_integer(values, "synthetic", 0, t->set.synthetic);
    hc_plot_real(values, "steepest", 0, found->steepest);
    hc_plot_real(values, "tenth", 0, found->tenth);
    if (hc_plot(hc_script("lr_find.gp"), values, run->folder) == HC_OK)
        hc_print_line(stdout, "%s/: lr_find.csv, lr_find.svg, lr_find.png", run->folder);
    else
        hc_print_line(stdout, "%s/: lr_find.csv; no picture: %s", run->folder, hc_message());
}

static int conclude_search(const struct hc_training *t, const struct hc_training_run *run,
                           const struct hc_lr_point *points, const struct hc_lr_found *found)
{
    const struct hc_lr_point *last = &points[found->points - 1];
    hc_print(stdout, "\n%d steps from %.3g to %.3g, %lld skipped; %s\n", found->points,
             points[0].lr, last->lr, (long long)last->skipped,
             found->diverged ? "the loss diverged at the last one" : "the loss never diverged");
    if (t->set.synthetic)
        printf("%s\n", t->set.origin);
    if (isnan(found->steepest)) {
        hc_print_line(stdout, "%s/: lr_find.csv", run->folder);
        printf("FAIL  %s: %d steps are too few to suggest a learning rate\n", run->recipe->name,
               found->points);
        return HC_CLAIM_FAILED;
    }
    draw_losses(t, run, found);
    struct hc_lines lines = {0};
    hc_lines_add(&lines,
                 "the smoothed loss falls fastest at a learning rate of %.2e; a tenth of the rate "
                 "where it is least is %.2e",
                 found->steepest, found->tenth);
    hc_print_folded(stdout, 0, 0, lines.text);
    return HC_AS_CLAIMED;
}

int hc_lr_find_command(const struct hc_training *t, const struct hc_training_run *run)
{
    struct progress_bar bar = progress_bar(t, run->recipe->name, run->seed);
    struct hc_train_options options = {.recipe = run->recipe,
                                       .network = t->network,
                                       .data = &t->set,
                                       .backend = t->backend,
                                       .threads = t->threads,
                                       .batch = t->batch,
                                       .seed = run->seed,
                                       .progress = progress_show,
                                       .context = &bar};
    char path[1100];
    struct hc_lr_found found;
    struct hc_lr_point *points = calloc((size_t)hc_lr_usual.steps, sizeof *points);
    if (!points)
        return hc_complain("no memory for %d steps", hc_lr_usual.steps);
    (void)snprintf(path, sizeof path, "%s/lr_find.csv", run->folder);
    int lock;
    enum hc_status status = hc_folder_lock(run->folder, &lock);
    if (status == HC_OK)
        status = hc_lr_find(&options, &hc_lr_usual, points, &found);
    progress_end(&bar);
    if (status == HC_OK)
        status = hc_lr_write(path, points, found.points);
    int exit_status =
        status == HC_OK ? conclude_search(t, run, points, &found) : hc_complain_message();
    hc_folder_unlock(lock);
    free(points);
    return exit_status;
}
