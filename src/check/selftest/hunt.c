#include "check/selftest/hunt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/bound/bound.h"
#include "check/runner.h"

bool hc_hunt_caught(const struct hc_fault *fault, const struct hc_hunt_result *result)
{
    if (result->crashed)
        return fault->crashes;
    bool caught = result->status == HC_OK && hc_hunt_counts(result);
    for (int p = 0; p < result->patterns; p++)
        caught = caught && result->caught_by[p] != -1;
    return caught;
}

bool hc_hunt_by_luck(const struct hc_fault *fault, const struct hc_hunt_result *result)
{
    return !result->crashed && hc_hunt_caught(fault, result) && result->results < HC_HUNT_RESULTS;
}

bool hc_hunt_counts(const struct hc_hunt_result *result)
{
    bool any = result->status != HC_OK;
    for (int p = 0; p < result->patterns; p++)
        any |= result->caught_by[p] != HC_HUNT_NO_CASE;
    return any && !result->unfit && !result->allowed;
}

/* How far the cases of one pattern have come. */
struct progress {
    const struct hc_fault *fault;
    uint64_t seed;
    const struct hc_backend
        *sound_backend; /* the subject without the fault; NULL: that of the row */
    const char *order;
    int ran;
    enum hc_verdict sound;        /* the verdict of the last case that ran on the sound backend */
    const struct hc_case *caught; /* the first case that caught the fault, or NULL */
    int results;                  /* so many results catch it, */
    int wanted;                   /* and with so many the hunt ends */
};

static enum hc_status run_faulty(struct progress *progress, const struct hc_case *const *cases,
                                 int count, const struct hc_fault_backends *plant,
                                 bool (*report)(const struct hc_result *, void *))
{
    struct hc_run_options options = {.cases = cases,
                                     .case_count = count,
                                     .backends = &plant->subject,
                                     .backend_count = 1,
                                     .exact = plant->exact,
                                     .level = HC_STANDARD,
                                     .order = progress->order,
                                     .seed = progress->seed,
                                     .threads = 1,
                                     .report = report,
                                     .context = progress};
    return hc_run_cases(&options);
}

static bool note_sound(const struct hc_result *result, void *context)
{
    struct progress *progress = context;
    progress->sound = result->verdict;
    return true;
}

/* Whether the case passes without the fault. A case that compares with exact would not run on
   exact, so it runs on host. */
static bool passes_without(struct progress *progress, const struct hc_case *what)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    bool host = progress->fault->place == HC_PLACE_EXACT && what->against_exact;
    const char *home = host ? "host" : hc_fault_home(progress->fault);
    struct hc_fault_backends sound = {hc_backend_by_name(home), exact};
    if (progress->sound_backend)
        sound.subject = progress->sound_backend;
    progress->sound = HC_ERROR;
    return run_faulty(progress, &what, 1, &sound, note_sound) == HC_OK &&
           progress->sound == HC_PASS;
}

static bool note_faulty(const struct hc_result *result, void *context)
{
    struct progress *progress = context;
    progress->ran++;
    bool shown = result->verdict == (progress->fault->shown ? progress->fault->shown : HC_FAIL);
    if (shown && passes_without(progress, result->what)) {
        progress->results++;
        if (!progress->caught)
            progress->caught = result->what;
    }
    return progress->results < progress->wanted;
}

/* Runs the case that caught the fault with other seeds, until enough results do. */
static enum hc_status try_seeds(struct progress *progress, const struct hc_fault_backends *plant)
{
    const struct hc_case *what = progress->caught;
    uint64_t seed = progress->seed;
    enum hc_status status = HC_OK;
    for (int i = 1; i <= HC_HUNT_SEEDS && status == HC_OK; i++) {
        progress->seed = seed + (uint64_t)i;
        if (progress->results < progress->wanted)
            status = run_faulty(progress, &what, 1, plant, note_faulty);
    }
    return status;
}

static bool concerns(const struct hc_case *what, const char *pattern, int level)
{
    return !what->once && (int)what->level == level && hc_matches(&pattern, 1, what->name);
}

static int number_of(const struct hc_case *const *cases, int count, const struct hc_case *what)
{
    int i = 0;
    while (i < count && cases[i] != what)
        i++;
    return i < count ? i : -1;
}

/* Whether the fault changes calls, inputs or outputs of an op that the backend has, and nothing
   else. */
static bool fits(const struct hc_fault *fault, const struct hc_backend *backend)
{
    bool has = false;
    for (int op = 0; op < HC_OP_COUNT; op++)
        has |= backend->kernel[op] && hc_fault_concerns(fault, (enum hc_op)op);
    bool elsewhere = fault->backend && strcmp(fault->backend, backend->name) != 0;
    return has && !elsewhere && backend->host_memory && !fault->rebuild &&
           fault->place != HC_PLACE_BOTH;
}

/* Whether a backend of free order, held to no order, may compute these ops so or so. */
static bool is_free(const struct hc_fault *fault, const struct hc_backend *backend,
                    const char *order)
{
    bool free = backend->free_order && !order;
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (hc_fault_concerns(fault, (enum hc_op)op))
            free = free && hc_bound_any_order_differs((enum hc_op)op);
    return free;
}

/* All patterns of the fault, one after the other. */
static enum hc_status hunt_all(const struct hc_fault *fault, const struct hc_case *const *cases,
                               int count, uint64_t seed, const struct hc_hunt_subject *subject,
                               struct hc_hunt_result *result)
{
    const struct hc_backend *sound = subject ? subject->choose(subject->context) : NULL;
    const char *order = subject ? subject->order : NULL;
    if (subject && !sound)
        return HC_DEVICE;
    result->unfit = sound && !fits(fault, sound);
    if (result->unfit)
        return HC_OK;
    char pattern[HC_GLOB];
    enum hc_status status = HC_OK;
    const struct hc_case **chosen = malloc((size_t)count * sizeof(struct hc_case *));
    if (!chosen)
        return hc_fail(HC_NO_MEMORY, "no memory for a list of %d cases", count);
    for (int p = 0; p < HC_HUNT_PATTERNS && status == HC_OK; p++) {
        int n = 0;
        char next[HC_GLOB];
        bool last = !hc_fault_glob(fault->patterns, p + 1, next);
        struct progress progress = {.fault = fault,
                                    .seed = seed,
                                    .sound_backend = sound,
                                    .order = order,
                                    .wanted = last && !result->results ? HC_HUNT_RESULTS : 1};
        if (!hc_fault_glob(fault->patterns, p, pattern))
            break;
        for (int level = HC_QUICK; level <= HC_STANDARD; level++)
            for (int i = 0; i < count; i++)
                if (concerns(cases[i], pattern, level))
                    chosen[n++] = cases[i];
        struct hc_fault_backends plant = {NULL, hc_backend_by_name("exact")};
        if (sound)
            plant.subject = hc_faulty_backend(sound, fault);
        else
            plant = hc_fault_plant(fault);
        if (n > 0)
            status = run_faulty(&progress, chosen, n, &plant, note_faulty);
        if (status == HC_OK && progress.caught && progress.results < progress.wanted)
            status = try_seeds(&progress, &plant);
        result->results += progress.results;
        result->patterns = p + 1;
        result->ran += progress.ran;
        result->caught_by[p] = progress.caught ? number_of(cases, count, progress.caught) : -1;
        if (sound && !progress.ran)
            result->caught_by[p] = HC_HUNT_NO_CASE;
    }
    result->allowed =
        sound && status == HC_OK && !hc_hunt_caught(fault, result) && is_free(fault, sound, order);
    free(chosen);
    return status;
}

/* What the new process does: it hunts, writes the result into the pipe and ends. */
static void run_hunter(int pipe, const struct hc_fault *fault, const struct hc_case *const *cases,
                       int count, uint64_t seed, const struct hc_hunt_subject *subject)
{
    struct hc_hunt_result result = {0};
    int null = fault->crashes ? open("/dev/null", O_WRONLY) : -1;
    if (null >= 0)
        (void)dup2(null, STDERR_FILENO);
    (void)alarm(HC_HUNT_SECONDS);
    result.status = hunt_all(fault, cases, count, seed, subject, &result);
    if (result.status != HC_OK)
        (void)snprintf(result.message, sizeof result.message, "%s", hc_message());
    _exit(write(pipe, &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
}

enum hc_status hc_hunt_begin(struct hc_hunt *hunt, const struct hc_fault *fault,
                             const struct hc_case *const *cases, int count, uint64_t seed,
                             const struct hc_hunt_subject *subject)
{
    int ends[2];
    if (pipe(ends) != 0)
        return hc_fail(HC_IO, "cannot make a pipe: %s", strerror(errno));
    pid_t process = fork();
    if (process == 0) {
        (void)close(ends[0]);
        run_hunter(ends[1], fault, cases, count, seed, subject);
    }
    (void)close(ends[1]);
    *hunt = (struct hc_hunt){fault, process, ends[0]};
    if (process > 0)
        return HC_OK;
    (void)close(ends[0]);
    return hc_fail(HC_IO, "cannot start a process: %s", strerror(errno));
}

struct hc_hunt_result hc_hunt_end(struct hc_hunt *hunt)
{
    struct hc_hunt_result result = {0};
    int how = 0;
    bool told = read(hunt->pipe, &result, sizeof result) == (ssize_t)sizeof result;
    (void)close(hunt->pipe);
    while (waitpid(hunt->process, &how, 0) < 0 && errno == EINTR)
        ;
    if (told)
        return result;
    bool late = WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM;
    result = (struct hc_hunt_result){.status = HC_DEVICE, .crashed = WIFSIGNALED(how) && !late};
    if (late)
        (void)snprintf(result.message, sizeof result.message, "it ran for more than %d s",
                       HC_HUNT_SECONDS);
    else
        (void)snprintf(result.message, sizeof result.message, "its process ended by %s %d",
                       WIFSIGNALED(how) ? "signal" : "status",
                       WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    return result;
}
