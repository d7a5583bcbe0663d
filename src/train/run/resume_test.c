/* Runs that are killed anywhere, the writes of their files included, go on to the same bits.
   Moments are stops of ptrace, which come before and after each system call, and points in time.
   HC_KILLS sets how many moments each recipe gets (default 2); 50 are a matter of minutes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "num/rng.h"
#include "train/update/recipe_fields.h"
#include "train/run/trainer.h"

enum { FILES = 4, MOST = 1 << 18 };

static const char *const names[FILES] = {"checkpoint", "steps.csv", "epochs.csv", "gradients.csv"};
static struct hc_dataset data;
static char folder[] = "/tmp/halfcheck-resume-XXXXXX";

static const struct hc_network minute = {.name = "minute",
                                         .side = 32,
                                         .channels = 3,
                                         .width = 2,
                                         .groups = 1,
                                         .blocks = {1},
                                         .strides = {2}};

static void path_of(const char *name, char path[200])
{
    (void)snprintf(path, 200, "%s/%s", folder, name);
}

static void empty_folder(void)
{
    char path[200];
    for (int i = 0; i < FILES; i++) {
        path_of(names[i], path);
        (void)remove(path);
    }
    path_of("checkpoint.part", path);
    (void)remove(path);
}

static void make(void)
{
    struct hc_data_options options = {
        .classes = "airplane,dog", .seed = 5, .train_per_class = 8, .test_per_class = 2};
    cr_assert_eq(hc_dataset_open(&options, &data), HC_OK, "%s", hc_message());
    cr_assert_not_null(mkdtemp(folder));
}

static void unmake(void)
{
    empty_folder();
    (void)rmdir(folder);
    hc_dataset_close(&data);
}

TestSuite(resume, .init = make, .fini = unmake, .timeout = 3600);

/* 4 steps an epoch; checkpoints after steps 3, 4, 6, 8. */
static struct hc_train_options options(const struct hc_recipe *recipe)
{
    return (struct hc_train_options){.recipe = recipe,
                                     .network = &minute,
                                     .data = &data,
                                     .backend = hc_backend_by_name("exact"),
                                     .threads = 1,
                                     .epochs = 2,
                                     .batch = 4,
                                     .seed = 11,
                                     .out = folder,
                                     .checkpoint_every = 3};
}

static bool there(const char *name)
{
    char path[200];
    path_of(name, path);
    return access(path, F_OK) == 0;
}

struct outcome {
    size_t size[FILES];
    unsigned char bytes[FILES][MOST];
};

/* The speed in epochs.csv is a measurement: its column is left out. */
static size_t without_speed(unsigned char *text, size_t size)
{
    size_t kept = 0;
    int column = 0;
    for (size_t i = 0; i < size; i++) {
        column = text[i] == '\n' ? 0 : column + (text[i] == ',');
        if (column != 5)
            text[kept++] = text[i];
    }
    return kept;
}

static void look(struct outcome *outcome)
{
    for (int i = 0; i < FILES; i++) {
        char path[200];
        path_of(names[i], path);
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file, "%s", path);
        outcome->size[i] = fread(outcome->bytes[i], 1, MOST, file);
        cr_assert(outcome->size[i] > 0 && outcome->size[i] < MOST);
        (void)fclose(file);
    }
    outcome->size[2] = without_speed(outcome->bytes[2], outcome->size[2]);
}

static void same(const char *recipe, long moment, const struct outcome *want,
                 const struct outcome *got)
{
    for (int i = 0; i < FILES; i++)
        cr_assert(want->size[i] == got->size[i] &&
                      memcmp(want->bytes[i], got->bytes[i], want->size[i]) == 0,
                  "%s, killed at moment %ld: another %s", recipe, moment, names[i]);
}

static pid_t start(const struct hc_train_options *o, bool traced)
{
    struct hc_train_result result;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child > 0)
        return child;
    if (traced && (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0))
        _exit(100);
    _exit((int)hc_train(o, &result));
}

/* Lets the run go up to that stop, and kills it there; how many stops it came to when it ended
   before, or -1 where processes may not be traced. */
static long kill_at_stop(const struct hc_train_options *o, long stop)
{
    int status;
    pid_t child = start(o, true);
    cr_assert_eq(waitpid(child, &status, 0), child);
    for (long stops = 0; WIFSTOPPED(status); stops++) {
        if (stops == stop)
            (void)kill(child, SIGKILL);
        else
            (void)ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        cr_assert_eq(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            return stop;
        if (WIFEXITED(status) && WEXITSTATUS(status) == HC_OK)
            return stops;
    }
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 100, "%s: status %x", o->recipe->name,
              (unsigned)status);
    return -1;
}

static void kill_after(const struct hc_train_options *o, double seconds)
{
    int status;
    struct timespec time = {0, (long)(1e9 * seconds)};
    pid_t child = start(o, false);
    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        ;
    (void)kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == HC_OK);
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct totals {
    long kills;
    long at_calls;
    long fresh;    /* before there was a checkpoint */
    long mid_file; /* with a checkpoint half written */
};

/* Killed, gone on with and killed again, and gone on with to the end. */
static void kill_and_resume(const struct hc_recipe *recipe, long moment, long stops, double seconds,
                            const struct outcome *want, struct totals *totals)
{
    static struct outcome got;
    struct hc_train_result result;
    struct hc_train_options o = options(recipe);
    empty_folder();
    for (int i = 0; i < 2; i++) {
        uint64_t bits = hc_random(1, (uint64_t)moment, (uint64_t)i);
        if (moment % 2 == 0 && stops > 0)
            totals->at_calls += kill_at_stop(&o, (long)(bits % (uint64_t)stops)) >= 0;
        else
            kill_after(&o, seconds * (double)(bits >> 40) * 0x1p-24);
        totals->kills++;
        totals->fresh += !there("checkpoint");
        totals->mid_file += there("checkpoint.part");
        o.resume = there("checkpoint");
    }
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s: %s", recipe->name, hc_message());
    cr_assert(result.finished && !there("checkpoint.part"));
    look(&got);
    same(recipe->name, moment, want, &got);
}

static const struct hc_recipe *in_groups(void)
{
    static const char text[] = "fastai-1.0.61-flat+group_rates=0.1/0.3/1+group_decays=0/0.1/0.01"
                               "+split_bn_bias=true+clip=0.1+clip_groups=true";
    static struct hc_recipe recipe;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return &recipe;
}

Test(resume, every_recipe_killed_anywhere_resumes_to_the_same_bits)
{
    static struct outcome want;
    struct totals totals = {0};
    const char *wish = getenv("HC_KILLS");
    long kills = wish ? strtol(wish, NULL, 10) : 2;
    int count;
    const struct hc_recipe *recipes = hc_recipes(&count);
    for (int r = 0; r <= count; r++) {
        const struct hc_recipe *recipe = r < count ? &recipes[r] : in_groups();
        struct hc_train_options o = options(recipe);
        struct hc_train_result result;
        empty_folder();
        double begun = now();
        enum hc_status status = hc_train(&o, &result);
        double seconds = now() - begun;
        if (status == HC_UNSUPPORTED)
            continue;
        cr_assert_eq(status, HC_OK, "%s: %s", recipe->name, hc_message());
        look(&want);
        empty_folder();
        long stops = kill_at_stop(&o, -1);
        for (long k = 0; k < kills; k++)
            kill_and_resume(recipe, 1000L * r + k, stops, seconds, &want, &totals);
    }
    cr_assert(totals.at_calls == 0 || totals.mid_file > 0,
              "%ld kills, none of them in the middle of a checkpoint", totals.kills);
    if (wish)
        (void)fprintf(
            stderr,
            "%ld kills, %ld of them at system calls, %ld before the first checkpoint, %ld "
            "with one half written\n",
            totals.kills, totals.at_calls, totals.fresh, totals.mid_file);
}
