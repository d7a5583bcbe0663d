/* What a record says of a training to those who compare trainings (check/record/outcomes.h). */
#include <stdio.h>
#include <string.h>

#include "check/record/outcomes.h"
#include "cli/training/training_record.h"
#include "op/text.h"

void hc_training_made(const struct hc_training *t, const struct hc_recipe *recipe, int steps,
                      char *text, size_t bytes)
{
    char classes[HC_CLASSES * 33 + 1] = "";
    char data[64] = "CIFAR-10";
    char length[48];
    char ranks[32] = "";
    for (int i = 0; i < t->set.classes; i++) {
        size_t used = strlen(classes);
        (void)snprintf(classes + used, sizeof classes - used, "%s%s", i ? "," : "",
                       t->set.names[i]);
    }
    if (t->set.synthetic)
        (void)snprintf(data, sizeof data, "synthetic images of seed %llu",
                       (unsigned long long)t->data_seed);
    (void)snprintf(length, sizeof length, steps > 0 ? "drift over %d steps" : "%d epochs",
                   steps > 0 ? steps : t->epochs);
    if (t->ranks > 1 && recipe->shards == 0)
        (void)snprintf(ranks, sizeof ranks, ", %d ranks", t->ranks);
    (void)hc_text_write(text, bytes, "%s, %s, %lld images, %s, %s, batch %d, lr %g%s%s", data,
                        classes, (long long)t->set.train.count, t->network->name, length, t->batch,
                        t->max_lr, t->load ? ", begun from a file" : "", ranks);
}

/* The fifth column of epochs.csv, test_accuracy. A file that is not there has no epochs. */
static int read_epochs(const char *folder, double *by_epoch)
{
    char path[1100];
    char line[512];
    int n = 0;
    (void)snprintf(path, sizeof path, "%s/epochs.csv", folder);
    FILE *file = fopen(path, "r");
    while (file && n < HC_MAX_OUTCOME_EPOCHS && fgets(line, sizeof line, file))
        n += sscanf(line, "%*d,%*[^,],%*[^,],%*[^,],%lf", &by_epoch[n]) == 1;
    if (file)
        (void)fclose(file);
    return n;
}

void hc_training_add_outcome(json_t *record, const struct hc_training *t,
                             const struct hc_training_run *run)
{
    static double by_epoch[HC_MAX_OUTCOME_EPOCHS];
    char made[640];
    const struct hc_train_result *r = &run->result;
    hc_training_made(t, run->recipe, 0, made, sizeof made);
    struct hc_outcome outcome = {.recipe = run->recipe->name,
                                 .backend = t->backend->name,
                                 .seed = run->seed,
                                 .settings = made,
                                 .test_images = t->set.test.count,
                                 .learned = r->learned,
                                 .reason = r->reason,
                                 .accuracy = r->accuracy,
                                 .test_loss = r->test_loss,
                                 .train_loss = r->train_loss,
                                 .accuracy_by_epoch = by_epoch,
                                 .epochs = read_epochs(run->folder, by_epoch)};
    hc_outcomes_add(record, &outcome);
}
