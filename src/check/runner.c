/* Workers are threads that run cases side by side, each with queues of its own. A worker takes the
   next units, runs them, and puts what came out into their slots: those of one case on several
   backends, so that references are computed once (check/known.h), but near the end one unit, so
   that all workers have something to do. The caller's thread reports the slots in the order of the
   units, so that the output does not depend on the workers. A unit's memory is kept until then only
   if its result shows something that lies there; but workers wait when they are very many units
   ahead of a long one. The caller's thread is not woken for each unit, which would take as long as
   many of them: it looks every now and then. A single worker is the caller's thread itself.

   A single worker's kernels have all cores. Several share them, so that not every worker wakes as
   many threads as there are cores; but each has two at least, because a kernel that is right on one
   thread alone must be found wrong. */
#include "check/last_word.h"
#include "check/runner.h"

#include <assert.h>
#include <fnmatch.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/case_run.h"
#include "check/check_inner.h"
#include "check/record/former.h"
#include "check/omissions.h"
#include "op/typed.h"
#include "reference.h"
#include "unit/unit.h"

/* Runs the units on as many workers as the options and the backends allow, and reports them in
   their order. What a backend's open returned, or HC_NO_MEMORY. */
enum hc_status hc_run_units(const struct hc_run_options *options, const struct hc_case_run *units,
                            int count);

/* Units that workers may be ahead: MIN_AHEAD, or so many a worker. */
enum { MIN_AHEAD = 4096, AHEAD = 8, MIN_THREADS = 2 };

/* How long the caller's thread sleeps, in nanoseconds, if what it waits for is not there. */
enum { LOOK_AFTER = 20 * 1000 * 1000, SECOND = 1000 * 1000 * 1000 };

/* The units of one case that are taken together, at most; and how many for each worker are taken
   one by one at the end. */
enum { TOGETHER = 6, ONE_BY_ONE = 16 };

struct team {
    const struct hc_run_options *options;
    const struct hc_case_run *units;
    int count;
    int ahead;   /* so many units */
    int workers; /* so many */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hc_check **slots; /* by unit: NULL until it has run */
    int next;                /* the unit to take next */
    int reported;            /* so many units */
    int waiting;             /* so many workers, for the reports */
    int put;                 /* so many units have run */
    bool stop;
    enum hc_status status; /* why a worker could not work */
    char why[512];
};

struct worker {
    struct team *team;
    struct hc_run_queues queues;
    pthread_t thread;
};

/* The units to take next, from team->next on: so many. */
static int length_of_next(const struct team *team)
{
    const struct hc_case_run *next = &team->units[team->next];
    int left = team->count - team->next;
    int n = 1;
    if (left > ONE_BY_ONE * team->workers)
        while (n < TOGETHER && n < left && next[n].what == next->what)
            n++;
    return n;
}

/* The first of the next `count` units, or -1. */
static int take(struct team *team, int *count)
{
    (void)pthread_mutex_lock(&team->lock);
    while (!team->stop && team->next < team->count && team->next - team->reported >= team->ahead) {
        team->waiting++;
        (void)pthread_cond_broadcast(&team->changed);
        (void)pthread_cond_wait(&team->changed, &team->lock);
        team->waiting--;
    }
    int unit = team->stop || team->next == team->count ? -1 : team->next;
    *count = unit < 0 ? 0 : length_of_next(team);
    team->next += *count;
    (void)pthread_mutex_unlock(&team->lock);
    return unit;
}

static bool stopped(struct team *team)
{
    (void)pthread_mutex_lock(&team->lock);
    bool stop = team->stop;
    (void)pthread_mutex_unlock(&team->lock);
    return stop;
}

static void put(struct team *team, int unit, struct hc_check *check)
{
    (void)pthread_mutex_lock(&team->lock);
    team->slots[unit] = check;
    if (!check) {
        team->stop = true;
        team->status = HC_NO_MEMORY;
        (void)snprintf(team->why, sizeof team->why, "no memory for a result");
    }
    if (++team->put == team->count || team->stop)
        (void)pthread_cond_broadcast(&team->changed);
    (void)pthread_mutex_unlock(&team->lock);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    int count;
    void *stack = hc_handler_stack_begin();
    if (w->team->options->threads > 0)
        omp_set_num_threads(w->team->options->threads);
    for (int first; (first = take(w->team, &count)) >= 0;)
        for (int unit = first; unit < first + count && !stopped(w->team); unit++) {
            struct hc_check *check = malloc(sizeof *check);
            if (check)
                hc_case_run_do(w->team->options, &w->team->units[unit], &w->queues, check);
            if (check && !check->result.pictures && !check->result.exhibits)
                hc_check_end(check);
            put(w->team, unit, check);
        }
    hc_reference_end();
    hc_handler_stack_end(stack);
    return NULL;
}

/* Waits until something has changed, or it is time to look. */
static void sleep_a_little(struct team *team)
{
    struct timespec until;
    (void)timespec_get(&until, TIME_UTC);
    until.tv_nsec += LOOK_AFTER;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    (void)pthread_cond_timedwait(&team->changed, &team->lock, &until);
}

/* What came out of the unit, or NULL when the team has stopped before it. */
static struct hc_check *wait_for(struct team *team, int unit)
{
    (void)pthread_mutex_lock(&team->lock);
    while (!team->slots[unit] && !team->stop)
        sleep_a_little(team);
    struct hc_check *check = team->slots[unit];
    team->slots[unit] = NULL;
    team->reported = unit + 1;
    if (team->waiting > 0)
        (void)pthread_cond_broadcast(&team->changed);
    (void)pthread_mutex_unlock(&team->lock);
    return check;
}

static void stop(struct team *team)
{
    (void)pthread_mutex_lock(&team->lock);
    team->stop = true;
    (void)pthread_cond_broadcast(&team->changed);
    (void)pthread_mutex_unlock(&team->lock);
}

static void report_all(struct team *team)
{
    for (int i = 0; i < team->count; i++) {
        hc_case_run_begin(team->options, &team->units[i]);
        struct hc_check *check = wait_for(team, i);
        bool more = check && hc_case_run_report(team->options, check);
        free(check);
        if (!more)
            break;
    }
    stop(team);
}

/* Starts the team's workers, each with queues of its own; *started counts them. */
static enum hc_status start_workers(struct team *team, struct worker *worker, int *started)
{
    enum hc_status status = HC_OK;
    while (*started < team->workers && status == HC_OK) {
        struct worker *w = &worker[*started];
        w->team = team;
        status = hc_run_queues_open(team->options, &w->queues);
        if (status == HC_OK && pthread_create(&w->thread, NULL, work, w) != 0)
            status = hc_fail(HC_NO_MEMORY, "cannot start a thread for the cases");
        if (status == HC_OK)
            ++*started;
        else
            hc_run_queues_close(team->options, &w->queues);
    }
    return status;
}

/* With what has run and was not reported. */
static void free_slots(struct team *team)
{
    for (int i = 0; team->slots && i < team->count; i++)
        if (team->slots[i]) {
            hc_check_end(team->slots[i]);
            free(team->slots[i]);
        }
    free(team->slots);
}

static enum hc_status run_in_team(const struct hc_run_options *options,
                                  const struct hc_case_run *units, int count, int workers)
{
    struct worker *worker = calloc((size_t)workers, sizeof *worker);
    struct team team = {.options = options, .units = units, .count = count, .workers = workers};
    int started = 0;
    (void)pthread_mutex_init(&team.lock, NULL);
    (void)pthread_cond_init(&team.changed, NULL);
    team.ahead = AHEAD * workers > MIN_AHEAD ? AHEAD * workers : MIN_AHEAD;
    team.slots = calloc((size_t)count, sizeof(struct hc_check *));
    enum hc_status status = team.slots && worker
                                ? start_workers(&team, worker, &started)
                                : hc_fail(HC_NO_MEMORY, "no memory for %d results", count);
    if (status == HC_OK)
        report_all(&team);
    else
        stop(&team);
    for (int i = 0; i < started; i++)
        (void)pthread_join(worker[i].thread, NULL);
    free_slots(&team);
    if (status == HC_OK && team.status != HC_OK)
        status = hc_fail(team.status, "%s", team.why);
    if (started > 0)
        hc_run_queues_tell(options, &worker[0].queues);
    for (int i = 0; i < started; i++)
        hc_run_queues_close(options, &worker[i].queues);
    free(worker);
    (void)pthread_cond_destroy(&team.changed);
    (void)pthread_mutex_destroy(&team.lock);
    return status;
}

static enum hc_status run_alone(const struct hc_run_options *options,
                                const struct hc_case_run *units, int count)
{
    struct hc_run_queues queues = {0};
    enum hc_status status = hc_run_queues_open(options, &queues);
    bool more = status == HC_OK;
    for (int i = 0; i < count && more; i++) {
        struct hc_check check;
        hc_case_run_begin(options, &units[i]);
        hc_case_run_do(options, &units[i], &queues, &check);
        more = hc_case_run_report(options, &check);
    }
    hc_run_queues_tell(options, &queues);
    hc_run_queues_close(options, &queues);
    return status;
}

int hc_run_cores(void)
{
    int cores = omp_get_num_procs();
    return cores < HC_MAX_WORKERS ? cores : HC_MAX_WORKERS;
}

/* Threads of each of several workers. */
static int shared_threads(int workers)
{
    int cores = omp_get_num_procs();
    int share = (cores + workers - 1) / workers;
    share = share > MIN_THREADS ? share : MIN_THREADS;
    return share < cores ? share : cores;
}

enum hc_status hc_run_units(const struct hc_run_options *options, const struct hc_case_run *units,
                            int count)
{
    struct hc_run_options shared = *options;
    int workers = options->workers < HC_MAX_WORKERS ? options->workers : HC_MAX_WORKERS;
    workers = workers < count ? workers : count;
    for (int b = 0; b < options->backend_count; b++)
        if (!options->backends[b]->concurrent)
            workers = 1;
    if (workers <= 1 || options->story || !hc_run_exact(options)->concurrent)
        return run_alone(options, units, count);
    if (shared.threads == 0)
        shared.threads = shared_threads(workers);
    int threads = omp_get_max_threads();
    enum hc_status status = run_in_team(&shared, units, count, workers);
    omp_set_num_threads(threads);
    return status;
}

const char *const hc_level_names[] = {"quick", "standard", "exhaustive", NULL};

/* Whether a word is the beginning of a name up to a slash: "eps" of "eps/recipes". */
static bool begins(const char *word, const char *name)
{
    size_t length = strlen(word);
    return length > 0 && strncmp(word, name, length) == 0 &&
           (word[length - 1] == '/' || name[length] == '/');
}

bool hc_matches(const char *const *patterns, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0 || begins(patterns[i], name))
            return true;
    return count == 0;
}

bool hc_any_glob(const char *globs, const char *name)
{
    char glob[64];
    while (*globs) {
        size_t length = strcspn(globs, " ");
        assert(length < sizeof glob);
        (void)snprintf(glob, sizeof glob, "%.*s", (int)length, globs);
        if (fnmatch(glob, name, 0) == 0)
            return true;
        globs += length + (globs[length] == ' ');
    }
    return false;
}

/* By its name, or by the one that it had in the version before. */
static bool case_matches(const char *const *patterns, int count, const struct hc_case *what)
{
    hc_case_name former;
    return hc_matches(patterns, count, what->name) ||
           (hc_former_name(what->name, former) && hc_matches(patterns, count, former));
}

static bool is_chosen(const struct hc_run_options *options, const struct hc_case *what)
{
    return case_matches(options->patterns, options->pattern_count, what);
}

static bool runs(const struct hc_run_options *options, const struct hc_case *what)
{
    return what->level <= options->level && is_chosen(options, what);
}

/* A backend may fill in its units when it is asked whether it can run here. */
bool hc_case_asks(const struct hc_case *what, const struct hc_backend *backend)
{
    if (!what->units)
        return true;
    if (backend->units && backend->unavailable)
        (void)backend->unavailable();
    for (int u = 0; backend->units && backend->units[u]; u++)
        if (hc_any_glob(what->units, backend->units[u]->name))
            return true;
    return false;
}

static bool concerns(const struct hc_run_options *options, const struct hc_case *what,
                     const struct hc_backend *backend)
{
    const char *const *own = &backend->default_cases;
    if (options->by_default && *own && !hc_matches(own, 1, what->name))
        return false;
    if (!hc_case_asks(what, backend) || (what->defined && !backend->defined))
        return false;
    bool exact = strcmp(backend->name, "exact") == 0;
    if (what->fast_only && (exact || strncmp(backend->name, "sim-", 4) == 0))
        return false;
    return !what->against_exact || !exact;
}

bool hc_runs_on(const struct hc_run_options *options, const struct hc_backend *backend)
{
    for (int c = 0; c < options->case_count; c++)
        if (!options->cases[c]->once && runs(options, options->cases[c]) &&
            concerns(options, options->cases[c], backend))
            return true;
    return false;
}

/* Lists the units in their order, unless `units` is NULL, and returns their number. */
static int list_units(const struct hc_run_options *options, struct hc_case_run *units)
{
    struct hc_case_run unused;
    int count = 0;
    for (int c = 0; c < options->case_count; c++) {
        const struct hc_case *what = options->cases[c];
        if (!runs(options, what))
            continue;
        for (int b = what->once ? -1 : 0; b < (what->once ? 0 : options->backend_count); b++) {
            if (b >= 0 && !concerns(options, what, options->backends[b]))
                continue;
            *(units ? &units[count] : &unused) = (struct hc_case_run){what, b};
            count++;
        }
    }
    return count;
}

static struct hc_case_run *new_units(const struct hc_run_options *options)
{
    return malloc(((size_t)list_units(options, NULL) + 1) * sizeof(struct hc_case_run));
}

static const char *backend_name(const struct hc_run_options *options,
                                const struct hc_case_run *unit)
{
    return unit->backend < 0 ? "-" : options->backends[unit->backend]->name;
}

/* Tries the groups that a case is the first one of: "op", "op/add"; with a star if a glob was
   typed. A group whose last word was typed, "add", is taken at once. */
static void try_groups(struct hc_nearest *nearest, const char *before, const char *name)
{
    const char *star = strpbrk(nearest->typed, "*?[") ? "/*" : "";
    for (const char *slash = name; (slash = strchr(slash, '/')) != NULL; slash++) {
        char group[HC_LONGEST_NAME + 1];
        int length = (int)(slash - name);
        if (strncmp(before, name, (size_t)length + 1) == 0)
            continue;
        (void)snprintf(group, sizeof group, "%.*s%s", length, name, star);
        hc_nearest_try(nearest, group);
        const char *last = strrchr(group, '/');
        bool large = strncmp(group, "size/", 5) == 0; /* whose op has cases of small calls, too */
        if (last && !large && !star[0] && strcmp(last + 1, nearest->typed) == 0)
            hc_nearest_take(nearest, group);
    }
}

/* Names what the user may have meant: a case, or all cases of a component or of an op. */
static enum hc_status no_case(const struct hc_run_options *options, const char *pattern)
{
    struct hc_nearest nearest = hc_nearest_to(pattern, strlen(pattern));
    for (int c = 0; c < options->case_count; c++) {
        try_groups(&nearest, c ? options->cases[c - 1]->name : "", options->cases[c]->name);
        hc_nearest_try(&nearest, options->cases[c]->name);
    }
    return hc_fail(HC_INVALID, "no case matches '%s'%s; see: halfcheck list, halfcheck find WORDS",
                   pattern, hc_nearest_hint(&nearest));
}

enum hc_status hc_run_possible(const struct hc_run_options *options)
{
    int chosen = 0;
    int elsewhere = 0;
    int compared = 0;
    int of_units = 0;
    int defined = 0;
    for (int i = 0; i < options->pattern_count; i++) {
        int c = 0;
        while (c < options->case_count &&
               !case_matches(&options->patterns[i], 1, options->cases[c]))
            c++;
        if (c == options->case_count)
            return no_case(options, options->patterns[i]);
    }
    for (int c = 0; c < options->case_count; c++) {
        chosen += is_chosen(options, options->cases[c]);
        elsewhere += runs(options, options->cases[c]);
        compared += runs(options, options->cases[c]) && options->cases[c]->against_exact;
        of_units += runs(options, options->cases[c]) && options->cases[c]->units;
        defined += runs(options, options->cases[c]) && options->cases[c]->defined;
    }
    int units = list_units(options, NULL);
    if (units == 0 && of_units > 0)
        return hc_fail(HC_INVALID,
                       "the %d case%s matrix units that no backend named here has; see: "
                       "halfcheck list units",
                       of_units, of_units == 1 ? " chosen asks" : "s chosen ask");
    if (units == 0 && defined > 0)
        return hc_fail(
            HC_INVALID,
            "no backend named here takes definitions, as the %d case%s; name plain, or a "
            "program that says \"definitions\"",
            defined, defined == 1 ? " chosen asks" : "s chosen ask");
    if (units == 0 && compared > 0)
        return hc_fail(HC_INVALID, "the %d case%s another backend with exact; name one", compared,
                       compared == 1 ? " chosen compares" : "s chosen compare");
    if (units == 0 && elsewhere > 0)
        return hc_fail(HC_INVALID, "the %d case%s too long on the backends named here; name host",
                       elsewhere, elsewhere == 1 ? " chosen takes" : "s chosen take");
    if (units == 0)
        return hc_fail(HC_INVALID, "none of the %d case%s chosen runs at level %s; try --level %s",
                       chosen, chosen == 1 ? "" : "s", hc_level_names[options->level],
                       hc_level_names[options->level + (options->level < HC_EXHAUSTIVE)]);
    return HC_OK;
}

/* A digest (FNV-1a: Fowler, Noll, Vo; RFC 9923) of what each unit is and of its shard. */
static uint64_t digest(uint64_t hash, const char *text, uint64_t number)
{
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return (hash ^ number) * 0x100000001b3u;
}

/* Keeps only the units of the shard `own`, and returns their number. Less than 0: no memory. */
static int keep_shard(const struct hc_run_options *options, struct hc_shard *own,
                      struct hc_case_run *units, int count)
{
    int kept = -1;
    double *seconds = malloc(((size_t)count + 1) * sizeof *seconds);
    int *shard = malloc(((size_t)count + 1) * sizeof *shard);
    if (!seconds || !shard)
        goto clean_up;
    for (int i = 0; i < count; i++)
        seconds[i] = options->seconds
                         ? options->seconds(units[i].what, backend_name(options, &units[i]),
                                            options->context)
                         : 1;
    if (hc_shard_plan(seconds, count, own->of, shard) != HC_OK)
        goto clean_up;
    own->plan = digest(0xcbf29ce484222325u, hc_level_names[options->level], options->seed);
    kept = 0;
    for (int i = 0; i < count; i++) {
        own->plan = digest(own->plan, units[i].what->name, 0);
        own->plan = digest(own->plan, backend_name(options, &units[i]), (uint64_t)shard[i]);
        if (shard[i] == own->index)
            units[kept++] = units[i];
    }
clean_up:
    free(seconds);
    free(shard);
    return kept;
}

/* The units that this process runs, and their number, which is less than 0 without memory. */
static struct hc_case_run *own_units(const struct hc_run_options *options, int *count)
{
    struct hc_shard *const parts[] = {options->shard, options->share};
    struct hc_case_run *units = new_units(options);
    *count = units ? list_units(options, units) : -1;
    for (int i = 0; i < 2 && *count >= 0; i++)
        if (parts[i] && parts[i]->of > 1)
            *count = keep_shard(options, parts[i], units, *count);
    return units;
}

int hc_run_length(const struct hc_run_options *options)
{
    int length;
    free(own_units(options, &length));
    return length;
}

enum hc_status hc_run_cases(const struct hc_run_options *options)
{
    enum hc_status status = hc_run_possible(options);
    if (status != HC_OK)
        return status;
    int count;
    struct hc_case_run *units = own_units(options, &count);
    status = count < 0 ? hc_fail(HC_NO_MEMORY, "no memory for the list of cases")
                       : hc_run_units(options, units, count);
    free(units);
    if (status == HC_OK && options->omissions && options->omissions->lost)
        return hc_fail(HC_NO_MEMORY, "no memory to count what was left out");
    return status;
}
