/* Workers are threads that run cases side by side, each with queues of its own. A worker takes the
   next units, runs them, and puts what came out into their slots: those of one case on several
   backends, so that references are computed once (check/known.h), but near the end one unit, so
   that all workers have something to do. The caller's thread reports the slots in the order of the
   units, so that the output does not depend on the workers; a unit's memory is kept until then, so
   workers wait when they are too many units ahead. A single worker is the caller's thread itself.

   A single worker's kernels have all cores. Several share them, so that not every worker wakes as
   many threads as there are cores; but each has two at least, because a kernel that is right on one
   thread alone must be found wrong. */
#include "check/workers.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_inner.h"
#include "reference.h"

/* Units that workers may be ahead: MIN_AHEAD, or so many a worker. */
enum { MIN_AHEAD = 64, AHEAD = 8, MIN_THREADS = 2 };

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
    while (!team->stop && team->next < team->count && team->next - team->reported >= team->ahead)
        (void)pthread_cond_wait(&team->changed, &team->lock);
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
    (void)pthread_cond_broadcast(&team->changed);
    (void)pthread_mutex_unlock(&team->lock);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    int count;
    if (w->team->options->threads > 0)
        omp_set_num_threads(w->team->options->threads);
    for (int first; (first = take(w->team, &count)) >= 0;)
        for (int unit = first; unit < first + count && !stopped(w->team); unit++) {
            struct hc_check *check = malloc(sizeof *check);
            if (check)
                hc_case_run_do(w->team->options, &w->team->units[unit], &w->queues, check);
            put(w->team, unit, check);
        }
    hc_reference_end();
    return NULL;
}

/* What came out of the unit, or NULL when the team has stopped before it. */
static struct hc_check *wait_for(struct team *team, int unit)
{
    (void)pthread_mutex_lock(&team->lock);
    while (!team->slots[unit] && !team->stop)
        (void)pthread_cond_wait(&team->changed, &team->lock);
    struct hc_check *check = team->slots[unit];
    team->slots[unit] = NULL;
    team->reported = unit + 1;
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
