#include "cli/training/lr_find.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/training/folder.h"
#include "cli/training/progress.h"
#include "cli/report/script.h"
#include "train/run/lr_find.h"
#include "cli/report/plot.h"
#include "op/text.h"

enum { LONGEST_LABEL = 48 };

static void draw(const struct hc_training *t, const struct hc_training_run *run,
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

static int conclude(const struct hc_training *t, const struct hc_training_run *run,
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
    draw(t, run, found);
    hc_print(stdout,
             "the smoothed loss falls fastest at a learning rate of %.2e; a tenth of the rate "
             "where it is "
             "least is %.2e\n",
             found->steepest, found->tenth);
    return HC_AS_CLAIMED;
}

int hc_lr_find_command(const struct hc_training *t, const struct hc_training_run *run)
{
    struct hc_progress_bar bar = hc_progress_bar(run->recipe->name, run->seed);
    struct hc_train_options options = {.recipe = run->recipe,
                                       .network = t->network,
                                       .data = &t->set,
                                       .backend = t->backend,
                                       .threads = t->threads,
                                       .batch = t->batch,
                                       .seed = run->seed,
                                       .progress = hc_progress_show,
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
    hc_progress_end(&bar);
    if (status == HC_OK)
        status = hc_lr_write(path, points, found.points);
    int exit_status = status == HC_OK ? conclude(t, run, points, &found) : hc_complain_message();
    hc_folder_unlock(lock);
    free(points);
    return exit_status;
}
