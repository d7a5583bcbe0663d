#include "cli/training/training_record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/calc/number.h"
#include "cli/lines.h"
#include "check/record/facts.h"
#include "check/record/invocation.h"
#include "check/record/json.h"
#include "check/record/outcomes.h"
#include "check/record/record.h"
#include "op/text.h"
#include "pipe.h"
#include "plugins.h"
#include "settings.h"

/* What a record says of a training to those who compare trainings (check/record/outcomes.h). */

void hc_training_made(const struct hc_training *t, const struct hc_recipe *recipe, int steps,
                      char *text, size_t bytes)
{
    char classes[HC_CLASSES * 33 + 1] = "";
    char data[64] = "CIFAR-10";
    char length[48];
    char ranks[32] = "";
    for (int i = 0; i < t->set.classes; i++) {
        hc_append(classes, sizeof classes, "%s%s", i ? "," : "", t->set.names[i]);
    }
    if (t->set.synthetic)
        (void)snprintf(data, sizeof data, "synthetic images of seed %llu",
                       (unsigned long long)t->data_seed);
    if (t->network->gpt && t->data)
        (void)snprintf(data, sizeof data, "a text of %lld bytes, %.6f nats a byte",
                       (long long)t->set.text.bytes, t->set.text.pairs);
    else if (t->network->gpt)
        (void)snprintf(data, sizeof data, "the made text of seed %llu",
                       (unsigned long long)t->data_seed);
    (void)snprintf(length, sizeof length, steps > 0 ? "drift over %d steps" : "%d epochs",
                   steps > 0 ? steps : t->epochs);
    if (t->ranks > 1 && recipe->shards == 0)
        (void)snprintf(ranks, sizeof ranks, ", %d ranks", t->ranks);
    (void)hc_text_write(text, bytes, "%s, %s%s%lld %s, %s, %s, batch %d, lr %g%s%s", data, classes,
                        classes[0] ? ", " : "", (long long)t->set.train.count,
                        t->network->gpt ? "pieces" : "images", t->network->name, length, t->batch,
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

/* Adds the training alone. */
static void training_add_outcome(json_t *record, const struct hc_training *t,
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
                                 .test_images = hc_training_tests(t),
                                 .learned = r->learned,
                                 .reason = r->reason,
                                 .accuracy = r->accuracy,
                                 .test_loss = r->test_loss,
                                 .train_loss = r->train_loss,
                                 .accuracy_by_epoch = by_epoch,
                                 .epochs = read_epochs(run->folder, by_epoch)};
    hc_outcomes_add(record, &outcome);
}

json_t *hc_training_settings(const struct hc_training *t)
{
    char backends[HC_BACKEND_NAMES];
    hc_training_backend_names(t, ",", backends);
    json_t *classes = json_array();
    for (int i = 0; i < t->set.classes; i++)
        (void)json_array_append_new(classes, hc_json_text(t->set.names[i]));
    json_t *settings =
        json_pack("{s:o, s:b, s:o, s:I, s:I, s:s, s:s, s:i, s:i, s:f}", "data",
                  hc_json_text(t->set.origin), "synthetic", t->set.synthetic, "classes", classes,
                  "train_images", (json_int_t)t->set.train.count, "test_images",
                  (json_int_t)t->set.test.count, "network", t->network->name, "backend", backends,
                  "epochs", t->epochs, "batch", t->batch, "max_lr", t->max_lr);
    if (t->ranks > 1)
        (void)json_object_set_new(settings, "ranks", json_integer(t->ranks));
    return settings;
}

/* "B", or "B --backend C" and so on, each as a word of the shell. */
static void spell_backends(const struct hc_training *t, char *text, size_t bytes)
{
    const struct hc_backend *b = t->backend;
    (void)hc_text_shell(text, bytes, b->spelled ? b->spelled : b->name);
    for (int i = 1; i < t->backend_count; i++) {
        char word[HC_BACKEND_NAMES];
        size_t used = strlen(text);
        b = t->several[i];
        (void)hc_text_shell(word, sizeof word, b->spelled ? b->spelled : b->name);
        (void)snprintf(text + used, bytes - used, " --backend %s", word);
    }
}

static bool any_pipe(const struct hc_training *t)
{
    bool pipe = t->backend->spelled && hc_pipe_is_spelled(t->backend->spelled);
    for (int i = 1; i < t->backend_count; i++)
        pipe |= t->several[i]->spelled && hc_pipe_is_spelled(t->several[i]->spelled);
    return pipe;
}

void hc_training_repro(const struct hc_training *t, char *text, size_t bytes)
{
    char rate[HC_NUMBER_TEXT];
    char data[1024];
    char word[1000];
    char classes[512] = "";
    char backend[1024];
    if (t->classes)
        (void)hc_text_shell(classes, sizeof classes, t->classes);
    if (t->data) {
        (void)hc_text_shell(word, sizeof word, t->data);
        (void)snprintf(data, sizeof data, " --data %s", word);
    } else
        (void)snprintf(data, sizeof data, " --data-seed %llu --images %d",
                       (unsigned long long)t->data_seed, t->images);
    spell_backends(t, backend, sizeof backend);
    hc_number_text(rate, HC_FP64, t->max_lr, 0);
    (void)snprintf(
        text, bytes, "%s%s%s --epochs %d --batch %d --lr %s --backend %s%s%s%s%s%s --network %s",
        data, t->classes ? " --classes " : "", classes, t->epochs, t->batch, rate, backend,
        t->backends.fallback ? " --fallback " : "",
        t->backends.fallback ? t->backends.fallback : "", any_pipe(t) ? hc_pipe_options() : "",
        hc_settings_options(), hc_plugins_options(), t->network->name);
}

void hc_training_add(json_t *record, const struct hc_training *t, const struct hc_training_run *run)
{
    char name[512];
    char options[HC_TRAINING_REPRO];
    char load[1000] = "";
    char repro[HC_TRAINING_REPRO + 1512];
    char note[512];
    char ranks[32] = "";
    const struct hc_train_result *r = &run->result;
    if (t->ranks > 1)
        (void)snprintf(ranks, sizeof ranks, " --ranks %d", t->ranks);
    (void)snprintf(name, sizeof name, "train/%s-seed%llu", run->recipe->name,
                   (unsigned long long)run->seed);
    hc_training_repro(t, options, sizeof options);
    if (t->load)
        (void)hc_text_shell(load, sizeof load, t->load);
    (void)snprintf(repro, sizeof repro, "halfcheck train --recipe %s --seed %llu%s%s%s%s",
                   run->recipe->name, (unsigned long long)run->seed, ranks, options,
                   t->load ? " --load " : "", load);
    char outcome[64];
    if (r->diverged)
        (void)snprintf(outcome, sizeof outcome, "NaN from step %lld", (long long)r->nan_from);
    else
        (void)hc_text_write(outcome, sizeof outcome, "accuracy %.2f %%", 100 * r->accuracy);
    (void)snprintf(note, sizeof note, "%s%s%s%s", outcome, r->reason[0] == '\0' ? "" : "; ",
                   r->reason, t->set.synthetic ? "; synthetic images" : "");
    struct hc_row row = hc_row_claim(name, t->backend->name, r->learned ? HC_PASS : HC_FAIL,
                                     r->train_loss, 0.9 * log(t->set.classes), "nat");
    row.checked = 1;
    row.seed = run->seed;
    row.seconds = r->seconds;
    row.note = note;
    row.repro = repro;
    hc_record_add(record, &row);
    training_add_outcome(record, t, run);
}

/* The sixth column of the last row, images_per_second. */
static double last_speed(const char *folder)
{
    char path[1100];
    char line[512];
    double speed = (double)NAN;
    (void)snprintf(path, sizeof path, "%s/epochs.csv", folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf", &speed) != 1)
            speed = (double)NAN;
    if (file != NULL)
        (void)fclose(file);
    return speed;
}

void hc_training_recall(struct hc_training_run *run)
{
    struct hc_train_result *r = &run->result;
    char path[1100];
    double speed;
    double seconds;
    json_int_t memory;
    const char *captured = "";
    json_t *others = NULL;
    run->others = (double)NAN;
    (void)snprintf(path, sizeof path, "%s/run.json", run->folder);
    json_t *record = json_load_file(path, 0, NULL);
    if (json_unpack(record, "{s:[{s:f}], s:{s:f, s:I, s?s, s?o}}", "results", "seconds", &seconds,
                    "training", "images_per_second", &speed, "memory_bytes", &memory, "graph",
                    &captured, "others_cpus", &others) == 0) {
        r->images_per_second = speed;
        r->seconds = seconds;
        r->memory = (int64_t)memory;
        run->others = json_is_number(others) ? json_number_value(others) : (double)NAN;
        (void)snprintf(r->captured, sizeof r->captured, "%s", captured);
    } else {
        r->images_per_second = last_speed(run->folder);
        r->memory = 0;
    }
    json_decref(record);
}

void hc_training_set_invocation(json_t *record, const struct hc_training *t)
{
    bool several = t->backend_count > 1;
    struct hc_invocation run = {.command = hc_command_line(),
                                .seed = t->seed,
                                .backends = several ? t->several : &t->backend,
                                .backend_count = several ? t->backend_count : 1};
    hc_record_set_invocation(record, &run);
}

/* JSON has no NaN. */
static json_t *real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

enum hc_status hc_training_write(const struct hc_training *t, const struct hc_training_run *run,
                                 json_t *facts)
{
    char path[1100];
    const struct hc_train_result *r = &run->result;
    json_t *record = hc_record_new();
    json_t *training = hc_training_settings(t);
    hc_training_add(record, t, run);
    hc_training_set_invocation(record, t);
    hc_record_set_facts(record, t->backend->name, json_incref(facts));
    (void)json_object_update_new(
        training,
        json_pack(
            "{s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, "
            "s:o, s:o, s:o, s:o, s:I, "
            "s:I, s:I}",
            "recipe", run->recipe->name, "recipe_title", run->recipe->title, "graph", r->captured,
            "finished", r->finished, "learned", r->learned, "nan_from",
            r->diverged ? json_integer(r->nan_from) : json_null(), "accuracy", real(r->accuracy),
            "test_loss", real(r->test_loss), "train_loss", real(r->train_loss), "steps",
            (json_int_t)r->steps, "skipped", (json_int_t)r->skipped, "final_scale",
            json_sprintf("%a", r->final_scale), "underflow", real(r->underflow),
            "underflow_without_scale", real(r->unscaled), "activation_underflow",
            real(r->activation_underflow), "activation_underflow_without_scale",
            real(r->activation_unscaled), "updates_lost", real(r->update_lost), "images_per_second",
            real(r->images_per_second), "threads",
            t->threads > 0 ? json_integer(t->threads) : json_null(), "others_cpus",
            real(run->others), "memory_bytes", (json_int_t)r->memory, "parameters",
            (json_int_t)r->parameters, "macs", (json_int_t)r->macs));
    (void)json_object_set_new(record, "training", training);
    (void)snprintf(path, sizeof path, "%s/run.json", run->folder);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}
