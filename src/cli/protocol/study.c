/* Training what a protocol asks for.

   A process looks at what there is, takes the next run that nobody has, trains it, and looks again,
   until nothing is left to do. A run is taken by a lock on a file of the folder .taken, which the
   kernel ends with the process; so what a process that was killed had begun is taken up by another,
   from its checkpoint. */
#include "cli/protocol/study.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/record/environment.h"
#include "cli/stop.h"
#include "cli/training/folder.h"
#include "cli/training/training_run.h"
#include "op/output.h"

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
