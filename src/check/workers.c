/* Workers are threads that run cases side by side, each with queues of its own. A worker takes the
   next unit, runs it, and puts what came out into the unit's slot. The caller's thread reports the
   slots in the order of the units, so that the output does not depend on the workers; a unit's
   memory is kept until then, so workers wait when they are too many units ahead. A single worker
   is the caller's thread itself.

   A single worker's kernels have all cores. Several share them, so that not every worker wakes as
   many threads as there are cores; but each has two at least, because a kernel that is right on one
   thread alone must be found wrong. */
#include "check/workers.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check/digest.h"
#include "check/float_state.h"
#include "check/free_order.h"
#include "check/omissions.h"
#include "check/check_inner.h"
#include "check/timing.h"
#include "own_calls.h"
#include "reference.h"

/* Units that workers may be ahead: MIN_AHEAD, or so many a worker. */
enum { MIN_AHEAD = 64, AHEAD = 8, MIN_THREADS = 2 };

struct queues {
    struct hc_queue *exact;
    struct hc_queue *by_backend[HC_MAX_BACKENDS]; /* NULL: unavailable */
};

struct team {
    const struct hc_run_options *options;
    const struct hc_case_run *units;
    int count;
    int ahead; /* so many units */
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
    struct queues queues;
    pthread_t thread;
};

static const struct hc_backend *exact_of(const struct hc_run_options *options)
{
    return options->exact ? options->exact : hc_backend_by_name("exact");
}

static enum hc_status open_queues(const struct hc_run_options *options, struct queues *queues)
{
    assert(options->backend_count <= HC_MAX_BACKENDS);
    if (options->threads > 0)
        omp_set_num_threads(options->threads);
    enum hc_status status =
        exact_of(options)->open(exact_of(options), &queues->exact, options->threads);
    if (status != HC_OK)
        queues->exact = NULL; /* whatever a failed open has left there */
    for (int b = 0; b < options->backend_count && status == HC_OK; b++) {
        const struct hc_backend *backend = options->backends[b];
        if (!backend->unavailable || !backend->unavailable())
            status = backend->open(backend, &queues->by_backend[b], options->threads);
        if (status != HC_OK)
            queues->by_backend[b] = NULL;
    }
    return status;
}

static void close_queues(const struct hc_run_options *options, struct queues *queues)
{
    for (int b = 0; b < options->backend_count; b++)
        if (queues->by_backend[b])
            options->backends[b]->close(queues->by_backend[b]);
    if (queues->exact)
        exact_of(options)->close(queues->exact);
}

static void tell_facts(const struct hc_run_options *options, const struct queues *queues)
{
    for (int b = 0; b < options->backend_count && options->closing; b++)
        if (queues->by_backend[b])
            options->closing(options->backends[b], queues->by_backend[b], options->context);
}

static void start_unit(const struct hc_run_options *options, const struct hc_case_run *unit)
{
    if (options->starting)
        options->starting(unit->what,
                          unit->backend < 0 ? "-" : options->backends[unit->backend]->name,
                          options->context);
}

/* After each guarded call the thread is looked at (check/guarded.c); calls of a training are not
   guarded, and neither are the threads that a kernel started. */
static void check_threads(struct hc_check *check)
{
    char line[128];
    const char *left = hc_float_state_reset_all();
    if (!left)
        return;
    (void)snprintf(line, sizeof line, "some kernel leaves %s in a thread", left);
    hc_check_breach(check, check->result.backend, line);
}

static void run_unit(const struct hc_run_options *options, const struct hc_case_run *unit,
                     const struct queues *queues, struct hc_check *check)
{
    const struct hc_backend *backend = unit->backend < 0 ? NULL : options->backends[unit->backend];
    *check = (struct hc_check){.what = unit->what,
                               .backend = backend,
                               .queue = backend ? queues->by_backend[unit->backend] : NULL,
                               .exact = exact_of(options),
                               .exact_queue = queues->exact,
                               .backends = options->backends,
                               .backend_count = options->backend_count,
                               .seed = options->seed,
                               .level = options->level,
                               .bits_only = options->bits_only,
                               .order = options->order,
                               .omissions = options->omissions,
                               .story = options->story};
    check->result = (struct hc_result){.what = unit->what,
                                       .backend = backend ? backend->name : "-",
                                       .seed = options->seed,
                                       .implementation = (double)NAN,
                                       .line = (double)NAN,
                                       .format = (double)NAN};
    double start = hc_clock();
    int64_t own_calls = hc_own_calls();
    if (backend && !check->queue)
        hc_skip(check, "%s", backend->unavailable());
    else if (!backend && check->bits_only)
        hc_skip(check, "it runs no kernel of a backend");
    else
        hc_check_run(check);
    check_threads(check);
    hc_order_conclude(check);
    if (hc_own_calls() == own_calls)
        hc_omit_unasked(check);
    if (check->result.verdict == HC_PASS && check->result.checked == 0 && !check->bits_only)
        hc_mistrust(check, "no comparison was made");
    if (!check->result.unit)
        check->result.unit = "claims";
    hc_check_digest_conclude(check);
    check->result.seconds = hc_clock() - start;
}

/* Whether to go on. */
static bool report_unit(const struct hc_run_options *options, struct hc_check *check)
{
    bool lacks = check->backend && (check->backend->partial || check->lacks_fp64);
    bool left_out = (lacks || check->order_stated || check->unasked) &&
                    check->result.verdict == HC_UNIMPLEMENTED;
    enum hc_omitted why = check->order_stated ? HC_OMITTED_ORDER
                          : check->unasked    ? HC_OMITTED_UNASKED
                          : check->refused    ? HC_OMITTED_REFUSED
                                              : HC_OMITTED_ABSENT;
    if (left_out && options->omissions)
        hc_omissions_add(options->omissions, &check->result, why);
    bool more = left_out || options->report(&check->result, options->context);
    hc_check_end(check);
    return more;
}

/* The next unit, or -1. */
static int take(struct team *team)
{
    (void)pthread_mutex_lock(&team->lock);
    while (!team->stop && team->next < team->count && team->next - team->reported >= team->ahead)
        (void)pthread_cond_wait(&team->changed, &team->lock);
    int unit = team->stop || team->next == team->count ? -1 : team->next++;
    (void)pthread_mutex_unlock(&team->lock);
    return unit;
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
    if (w->team->options->threads > 0)
        omp_set_num_threads(w->team->options->threads);
    for (int unit; (unit = take(w->team)) >= 0;) {
        struct hc_check *check = malloc(sizeof *check);
        if (check)
            run_unit(w->team->options, &w->team->units[unit], &w->queues, check);
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
        start_unit(team->options, &team->units[i]);
        struct hc_check *check = wait_for(team, i);
        bool more = check && report_unit(team->options, check);
        free(check);
        if (!more)
            break;
    }
    stop(team);
}

static enum hc_status run_in_team(const struct hc_run_options *options,
                                  const struct hc_case_run *units, int count, int workers)
{
    struct worker *worker = calloc((size_t)workers, sizeof *worker);
    struct team team = {.options = options, .units = units, .count = count};
    int started = 0;
    enum hc_status status = HC_OK;
    (void)pthread_mutex_init(&team.lock, NULL);
    (void)pthread_cond_init(&team.changed, NULL);
    team.ahead = AHEAD * workers > MIN_AHEAD ? AHEAD * workers : MIN_AHEAD;
    team.slots = calloc((size_t)count, sizeof(struct hc_check *));
    if (!team.slots || !worker)
        status = hc_fail(HC_NO_MEMORY, "no memory for %d results", count);
    while (worker && started < workers && status == HC_OK) {
        struct worker *w = &worker[started];
        w->team = &team;
        status = open_queues(options, &w->queues);
        if (status == HC_OK && pthread_create(&w->thread, NULL, work, w) != 0)
            status = hc_fail(HC_NO_MEMORY, "cannot start a thread for the cases");
        if (status == HC_OK)
            started++;
        else
            close_queues(options, &w->queues);
    }
    if (status == HC_OK)
        report_all(&team);
    else
        stop(&team);
    for (int i = 0; i < started; i++)
        (void)pthread_join(worker[i].thread, NULL);
    for (int i = 0; team.slots && i < count; i++)
        if (team.slots[i]) {
            hc_check_end(team.slots[i]);
            free(team.slots[i]);
        }
    if (status == HC_OK && team.status != HC_OK)
        status = hc_fail(team.status, "%s", team.why);
    if (started > 0)
        tell_facts(options, &worker[0].queues);
    for (int i = 0; i < started; i++)
        close_queues(options, &worker[i].queues);
    free(worker);
    free(team.slots);
    (void)pthread_cond_destroy(&team.changed);
    (void)pthread_mutex_destroy(&team.lock);
    return status;
}

static enum hc_status run_alone(const struct hc_run_options *options,
                                const struct hc_case_run *units, int count)
{
    struct queues queues = {0};
    enum hc_status status = open_queues(options, &queues);
    bool more = status == HC_OK;
    for (int i = 0; i < count && more; i++) {
        struct hc_check check;
        start_unit(options, &units[i]);
        run_unit(options, &units[i], &queues, &check);
        more = report_unit(options, &check);
    }
    tell_facts(options, &queues);
    close_queues(options, &queues);
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
    if (workers <= 1 || options->story || !exact_of(options)->concurrent)
        return run_alone(options, units, count);
    if (shared.threads == 0)
        shared.threads = shared_threads(workers);
    int threads = omp_get_max_threads();
    enum hc_status status = run_in_team(&shared, units, count, workers);
    omp_set_num_threads(threads);
    return status;
}
