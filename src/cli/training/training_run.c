/* One run of one recipe. */
#include "cli/training/training_run.h"

#include <math.h>
#include <stdio.h>

#include "check/record/environment.h"
#include "check/record/facts.h"
#include "cli/ranks/ranks.h"
#include "cli/stop.h"
#include "cli/training/folder.h"
#include "cli/training/machine_load.h"
#include "cli/training/progress.h"
#include "cli/training/training_record.h"
#include "op/text.h"
#include "train/update/recipe_fields.h"

static void print_note(const char *line, void *context)
{
    (void)context;
    printf("loaded    ");
    hc_text_line(stdout, line);
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* What is left to do when the training has ended. */
static enum hc_status keep(const struct hc_training *t, struct hc_training_run *run, json_t *told,
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
        status = hc_training_write(t, run, told);
    return status;
}

enum hc_status hc_training_run(const struct hc_training *t, struct hc_training_run *run)
{
    char label[HC_RECIPE_NAME + HC_BACKEND_NAMES];
    (void)snprintf(label, sizeof label, "%s%s%s", run->recipe->name, t->among_several ? " on " : "",
                   t->among_several ? t->backend->name : "");
    struct hc_progress_bar bar = hc_progress_bar(label, run->seed);
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
        .progress = hc_progress_show,
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
    hc_progress_end(&bar);
    if (writes)
        status = keep(t, run, options.told, status);
    status = t->alone ? status : hc_ranks_agree("results", status, NULL, 0);
    hc_folder_unlock(lock);
    json_decref(options.told);
    return status;
}
