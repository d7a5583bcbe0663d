/* One run of one recipe. */
#include "cli/training/training_run.h"

#include <math.h>
#include <stdio.h>

#include "check/record/environment.h"
#include "check/record/facts.h"
#include "cli/stop.h"
#include "cli/training/folder.h"
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

enum hc_status hc_training_run(const struct hc_training *t, struct hc_training_run *run)
{
    char label[HC_RECIPE_NAME + HC_BACKEND_NAMES];
    (void)snprintf(label, sizeof label, "%s%s%s", run->recipe->name, t->among_several ? " on " : "",
                   t->among_several ? t->backend->name : "");
    struct hc_progress_bar bar = hc_progress_bar(label, run->seed);
    struct hc_train_options options = {.recipe = run->recipe,
                                       .network = t->network,
                                       .data = &t->set,
                                       .backend = t->backend,
                                       .threads = t->threads,
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
                                       .told = json_object()};
    int lock;
    hc_stop_on_request();
    enum hc_status status = hc_folder_lock(run->folder, &lock);
    if (status == HC_OK)
        status = t->ranks > 1 ? hc_train_ranks(&options, t->ranks, &run->result)
                              : hc_train(&options, &run->result);
    hc_progress_end(&bar);
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
        status = hc_training_write(t, run, options.told);
    hc_folder_unlock(lock);
    json_decref(options.told);
    return status;
}
