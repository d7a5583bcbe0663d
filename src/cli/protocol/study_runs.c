/* What is known of a study's runs. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/record/outcomes.h"
#include "cli/protocol/study.h"
#include "cli/training/training_record.h"

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
static enum hc_status take(const struct hc_study *study, int subject, int seed, const char *path,
                           const json_t *record, struct hc_study_run *run)
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
    enum hc_status status = take(study, subject, seed, path, record, run);
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
