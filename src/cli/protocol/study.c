/* Training what a protocol asks for.

   A process looks at what there is, takes the next run that nobody has, trains it, and looks again,
   until nothing is left to do. A run is taken by a lock on a file of the folder .taken, which the
   kernel ends with the process; so what a process that was killed had begun is taken up by another,
   from its checkpoint. */
#include "cli/protocol/study.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/record/environment.h"
#include "cli/stop.h"
#include "cli/training/folder.h"
#include "cli/training/training.h"
#include "cli/training/training_record.h"
#include "op/output.h"
#include "op/typed.h"

/* What a protocol's names and numbers mean: its recipes, its network, its data, the options of its
   trainings. */

static enum hc_status find_network(const struct hc_protocol *p, const char *path,
                                   struct hc_training *t)
{
    struct hc_nearest nearest = hc_nearest_to(p->network, strlen(p->network));
    for (int i = 0; hc_training_networks[i] != NULL; i++) {
        hc_nearest_try(&nearest, hc_training_networks[i]->name);
        t->network_choice = i;
        t->network = hc_training_networks[i];
        if (strcmp(t->network->name, p->network) == 0)
            return (t->network->gpt != NULL) != p->text
                       ? hc_fail(HC_INVALID, "%s: %s reads %s, and data is %s", path, p->network,
                                 t->network->gpt ? "text" : "images",
                                 p->text        ? "text"
                                 : p->synthetic ? "synthetic"
                                                : "cifar10")
                       : HC_OK;
    }
    return hc_fail(HC_INVALID, "%s: there is no network '%s'%s", path, p->network,
                   hc_nearest_hint(&nearest));
}

static void set_options(const struct hc_protocol *p, struct hc_training *t)
{
    t->classes = p->classes[0] ? p->classes : NULL;
    t->seed = p->seed;
    t->max_lr = p->lr;
    t->epochs = p->epochs;
    t->batch = p->batch;
    t->measure_every = p->measure;
    t->images = p->synthetic ? p->images : t->images;
    t->backends.named = (struct hc_words){.count = 1, .word = {p->backend}};
    t->alone = true;
    for (int i = 0; i < p->sets; i++)
        t->overrides.word[t->overrides.count++] = p->set[i];
}

static enum hc_status find_recipes(struct hc_study *study)
{
    const struct hc_protocol *p = study->protocol;
    for (int a = 0; a <= p->arms; a++) {
        const char *name = a == 0 ? p->base : p->arm[a - 1].recipe;
        study->recipe[a] = hc_training_recipe(study->training, name, strlen(name));
        if (!study->recipe[a])
            return HC_INVALID;
        for (int b = 0; b < a; b++)
            if (strcmp(study->recipe[a]->name, study->recipe[b]->name) == 0)
                return hc_fail(HC_INVALID, "the protocol names recipe %s twice",
                               study->recipe[a]->name);
    }
    return HC_OK;
}

/* The sizes of the set, whose images are not looked at. */
static enum hc_status know_data(struct hc_study *study)
{
    const struct hc_protocol *p = study->protocol;
    struct hc_training *t = study->training;
    struct hc_data_options few = {.text = p->text,
                                  .seed = t->data_seed,
                                  .classes = t->classes,
                                  .train_per_class = 1,
                                  .test_per_class = 1};
    struct hc_dataset set;
    enum hc_status status = hc_dataset_open(&few, &set);
    t->set = set;
    t->set.train.labels = t->set.test.labels = NULL;
    t->set.train.pixels = t->set.test.pixels = NULL;
    t->set.text.byte = NULL;
    hc_dataset_close(&set);
    if (p->text) {
        study->test_images = hc_training_tests(t);
        return status;
    }
    t->set.synthetic = p->synthetic;
    t->set.train.count = (int64_t)t->set.classes * (p->synthetic ? p->images : 5000);
    t->set.test.count = (int64_t)t->set.classes * (p->synthetic ? (p->images + 4) / 5 : 1000);
    study->test_images = hc_training_tests(t);
    return status;
}

enum hc_status hc_study_open(struct hc_study *study, const struct hc_protocol *protocol,
                             const char *path, struct hc_training *training)
{
    *study = (struct hc_study){.protocol = protocol, .training = training};
    set_options(protocol, training);
    enum hc_status status = find_network(protocol, path, training);
    if (status == HC_OK)
        status = find_recipes(study);
    return status == HC_OK ? know_data(study) : status;
}

/* What is known of a study's runs. */

void hc_study_run_folder(const struct hc_study *study, int subject, int seed,
                         char path[HC_STUDY_PATH])
{
    char name[HC_RECIPE_NAME + 40];
    hc_training_folder(study->recipe[subject], study->protocol->seed + (uint64_t)seed, name,
                       sizeof name);
    (void)snprintf(path, HC_STUDY_PATH, "%s/%s", study->folder, name);
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void text(const json_t *object, const char *name, char *to, size_t bytes)
{
    const char *value = json_string_value(json_object_get(object, name));
    (void)snprintf(to, bytes, "%s", value ? value : "");
}

void hc_study_processor(const json_t *environment, char cpu[HC_STUDY_CPU])
{
    const char *model = json_string_value(json_object_get(environment, "cpu"));
    const char *flags = json_string_value(json_object_get(environment, "cpu_flags"));
    (void)snprintf(cpu, HC_STUDY_CPU, "%s: %s", model ? model : "unknown", flags ? flags : "");
}

/* The run of the record, which is to be of this recipe, seed and settings. */
static enum hc_status take_run(const struct hc_study *study, int subject, int seed,
                               const char *path, const json_t *record, struct hc_study_run *run)
{
    char want[640];
    char recipe[HC_RECIPE_NAME];
    const json_t *training = json_object_get(record, "training");
    const json_t *outcome = json_array_get(json_object_get(record, "trainings"), 0);
    const char *got = json_string_value(json_object_get(outcome, "settings"));
    text(training, "recipe", recipe, sizeof recipe);
    hc_training_made(study->training, study->recipe[subject], 0, want, sizeof want);
    if (!got || strcmp(recipe, study->recipe[subject]->name) != 0)
        return hc_fail(HC_INVALID, "%s: is no record of a training under %s", path,
                       study->recipe[subject]->name);
    if (strcmp(got, want) != 0)
        return hc_fail(HC_INVALID,
                       "%s: was trained with other settings (%s) than the protocol's (%s)", path,
                       got, want);
    char made[32];
    char asked[32];
    text(outcome, "seed", made, sizeof made);
    (void)snprintf(asked, sizeof asked, "%llu",
                   (unsigned long long)(study->protocol->seed + (uint64_t)seed));
    if (strcmp(made, asked) != 0)
        return hc_fail(HC_INVALID, "%s: has seed %s", path, made);
    hc_study_processor(json_object_get(record, "environment"), run->cpu);
    text(outcome, "reason", run->reason, sizeof run->reason);
    run->state =
        json_is_true(json_object_get(training, "finished")) ? HC_STUDY_OVER : HC_STUDY_BEGUN;
    run->learned = json_is_true(json_object_get(training, "learned"));
    run->accuracy = number(training, "accuracy");
    run->test_loss = number(training, "test_loss");
    run->train_loss = number(training, "train_loss");
    run->skipped = (int64_t)json_integer_value(json_object_get(training, "skipped"));
    run->images_per_second = number(training, "images_per_second");
    run->others = number(training, "others_cpus");
    char scale[64];
    text(training, "final_scale", scale, sizeof scale);
    if (sscanf(scale, "%la", &run->final_scale) != 1)
        run->final_scale = (double)NAN;
    return HC_OK;
}

/* A run that was only begun has no run.json; the first line of its file `cpu` is its processor. */
static void look_at_begun(const char *folder, struct hc_study_run *run)
{
    char path[HC_STUDY_PATH + 16];
    (void)snprintf(path, sizeof path, "%s/cpu", folder);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    if (fgets(run->cpu, sizeof run->cpu, file))
        run->state = HC_STUDY_BEGUN;
    run->cpu[strcspn(run->cpu, "\n")] = '\0';
    (void)fclose(file);
}

static enum hc_status read_run(const struct hc_study *study, int subject, int seed,
                               struct hc_study_run *run)
{
    char folder[HC_STUDY_PATH];
    char path[HC_STUDY_PATH + 16];
    json_error_t error;
    *run = (struct hc_study_run){.accuracy = (double)NAN, .others = (double)NAN};
    hc_study_run_folder(study, subject, seed, folder);
    (void)snprintf(path, sizeof path, "%s/run.json", folder);
    if (access(path, F_OK) != 0) {
        look_at_begun(folder, run);
        return HC_OK;
    }
    json_t *record = json_load_file(path, 0, &error);
    if (!record)
        return hc_fail(HC_INVALID, "%s:%d: %s", path, error.line, error.text);
    enum hc_status status = take_run(study, subject, seed, path, record, run);
    json_decref(record);
    return status;
}

enum hc_status hc_study_read(struct hc_study *study)
{
    enum hc_status status = HC_OK;
    for (int a = 0; a <= study->protocol->arms; a++)
        for (int s = 0; s < HC_STUDY_SEEDS && status == HC_OK; s++)
            status = read_run(study, a, s, &study->run[a][s]);
    return status;
}

struct hc_study_pairs hc_study_pairs(const struct hc_study *study, int arm)
{
    struct hc_study_pairs pairs = {0};
    for (int s = 0; s < HC_STUDY_SEEDS; s++) {
        const struct hc_study_run *base = &study->run[0][s];
        const struct hc_study_run *run = &study->run[arm + 1][s];
        if (run->state == HC_STUDY_OVER)
            pairs.lost += !run->learned;
        if (base->state != HC_STUDY_OVER || run->state != HC_STUDY_OVER)
            continue;
        if (strcmp(base->cpu, run->cpu) != 0) {
            pairs.mixed++;
        } else if (isfinite(base->accuracy) && isfinite(run->accuracy)) {
            pairs.seed[pairs.n] = s;
            pairs.subject[pairs.n] = 100 * run->accuracy;
            pairs.base[pairs.n++] = 100 * base->accuracy;
        }
    }
    return pairs;
}

/* What is left to do. */
struct next {
    int subject; /* -1: nothing for this process */
    int seed;
    bool others; /* runs that this process may not take are still to come */
};

static bool mine(const struct hc_study *study, int seed)
{
    return study->shard.of <= 1 || seed % study->shard.of == study->shard.index - 1;
}

/* Whether a run on this processor would make a pair with what there is of that seed. */
static bool fits(const struct hc_study *study, int seed, const char *cpu)
{
    for (int a = 0; a <= study->protocol->arms; a++) {
        const struct hc_study_run *run = &study->run[a][seed];
        if (run->state != HC_STUDY_ABSENT && strcmp(run->cpu, cpu) != 0)
            return false;
    }
    return true;
}

/* How many pairs the arm needs now: those of its next look. A process that has seeds of its own
   does not know what others find, and makes all of them. */
static int wanted(const struct hc_study *study, int arm)
{
    const struct hc_protocol_arm *a = &study->protocol->arm[arm];
    struct hc_sequential plan = hc_protocol_plan(study->protocol, arm);
    if (study->shard.of > 1 || a->claim == HC_CLAIM_LOST || plan.looks == 0)
        return a->pairs;
    struct hc_study_pairs pairs = hc_study_pairs(study, arm);
    return hc_sequential_next(&plan, pairs.subject, pairs.base, pairs.n, study->protocol->margin,
                              100 / (double)study->test_images);
}

/* Tries to take a run, which stays taken until *lock is given back. */
static bool takes(const struct hc_study *study, int subject, int seed, int *lock)
{
    char path[HC_STUDY_PATH + 32];
    char name[HC_RECIPE_NAME + 40];
    hc_training_folder(study->recipe[subject], study->protocol->seed + (uint64_t)seed, name,
                       sizeof name);
    (void)snprintf(path, sizeof path, "%s/.taken/%s", study->folder, name);
    return hc_folder_lock(path, lock) == HC_OK;
}

/* The first run that is not over of the first seeds that make up what the arm wants. A pair that
   was begun on another kind of processor waits for one, and another seed takes its turn. */
static void look_at_arm(const struct hc_study *study, int arm, const char *cpu, struct next *next,
                        int *lock)
{
    int left = wanted(study, arm);
    for (int seed = 0; seed < HC_STUDY_SEEDS && left > 0 && next->subject < 0; seed++) {
        const int subjects[] = {0, arm + 1};
        int over = 0;
        for (int i = 0; i < 2; i++)
            over += study->run[subjects[i]][seed].state == HC_STUDY_OVER;
        if (!mine(study, seed)) {
            left--;
            continue;
        }
        bool same = strcmp(study->run[0][seed].cpu, study->run[arm + 1][seed].cpu) == 0;
        if (over < 2 ? !fits(study, seed, cpu) : !same)
            continue;
        left--;
        for (int i = 0; i < 2 && next->subject < 0; i++) {
            if (study->run[subjects[i]][seed].state == HC_STUDY_OVER)
                continue;
            if (takes(study, subjects[i], seed, lock))
                *next = (struct next){.subject = subjects[i], .seed = seed};
            else
                next->others = true;
        }
    }
}

/* The arms of a stage go on side by side: the one with the fewest pairs comes first. */
static struct next find_next(const struct hc_study *study, const char *cpu, int *lock)
{
    const struct hc_protocol *p = study->protocol;
    struct next next = {.subject = -1};
    for (int stage = 0; stage < p->stages && next.subject < 0 && !next.others; stage++)
        for (int pairs = 0; pairs <= HC_STUDY_SEEDS && next.subject < 0; pairs++)
            for (int a = 0; a < p->arms && next.subject < 0; a++)
                if (p->arm[a].stage == stage && hc_study_pairs(study, a).n == pairs)
                    look_at_arm(study, a, cpu, &next, lock);
    return next;
}

static void print_text(FILE *out, const void *text)
{
    (void)fprintf(out, "%s\n", (const char *)text);
}

/* Trains the run that was taken, and removes its checkpoint: the weights of a run that is over are
   of no more use to the study, and take 61 MB. */
static enum hc_status train(const struct hc_study *study, struct next next, const char *cpu)
{
    char path[HC_STUDY_PATH + 16];
    struct hc_training_run run = {.recipe = study->recipe[next.subject],
                                  .seed = study->protocol->seed + (uint64_t)next.seed};
    char folder[HC_STUDY_PATH];
    hc_study_run_folder(study, next.subject, next.seed, folder);
    if (strlen(folder) >= sizeof run.folder)
        return hc_fail(HC_INVALID, "the name of the output folder is too long");
    (void)snprintf(run.folder, sizeof run.folder, "%s", folder);
    enum hc_status status = hc_make_folder(run.folder);
    (void)snprintf(path, sizeof path, "%s/cpu", run.folder);
    if (status == HC_OK)
        status = hc_output_print(path, print_text, cpu);
    (void)snprintf(path, sizeof path, "%s/checkpoint", run.folder);
    run.resume = access(path, F_OK) == 0;
    if (status == HC_OK)
        status = hc_training_run(study->training, &run);
    if (status == HC_OK && run.result.finished && unlink(path) != 0)
        status = hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    return status;
}

/* Others are at the runs that are left. One that is killed leaves its run to this process. */
static enum hc_status wait_for_others(void)
{
    struct timespec while_ = {.tv_nsec = 200000000};
    for (int i = 0; i < 10 && !hc_stop_signal(); i++)
        (void)nanosleep(&while_, NULL);
    return hc_stop_signal()
               ? hc_fail(HC_INVALID, "stopped by signal %d while others train", hc_stop_signal())
               : HC_OK;
}

enum hc_status hc_study_train(struct hc_study *study)
{
    json_t *environment = hc_environment();
    char cpu[HC_STUDY_CPU];
    hc_study_processor(environment, cpu);
    json_decref(environment);
    enum hc_status status = hc_make_folder(study->folder);
    hc_stop_on_request();
    for (bool over = false; status == HC_OK && !over;) {
        int lock = -1;
        status = hc_study_read(study);
        struct next next = {.subject = -1};
        if (status == HC_OK)
            next = find_next(study, cpu, &lock);
        over = next.subject < 0 && !next.others;
        if (status == HC_OK && next.subject < 0 && next.others)
            status = wait_for_others();
        /* Between the look and the lock another process may have ended this very run. */
        if (status == HC_OK && next.subject >= 0)
            status = hc_study_read(study);
        if (status == HC_OK && next.subject >= 0 &&
            study->run[next.subject][next.seed].state != HC_STUDY_OVER)
            status = train(study, next, cpu);
        hc_folder_unlock(lock);
    }
    return status;
}
