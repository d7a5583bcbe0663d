#include "check/case_run.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/check_inner.h"
#include "check/digest.h"
#include "check/free_order.h"
#include "check/known.h"
#include "check/omissions.h"
#include "check/timing.h"
#include "num/float_state.h"
#include "op/text.h"
#include "own_calls.h"

const struct hc_backend *hc_run_exact(const struct hc_run_options *options)
{
    return options->exact ? options->exact : hc_backend_by_name("exact");
}

enum hc_status hc_run_queues_open(const struct hc_run_options *options,
                                  struct hc_run_queues *queues)
{
    assert(options->backend_count <= HC_MAX_BACKENDS);
    if (options->threads > 0)
        omp_set_num_threads(options->threads);
    queues->known = options->known ? options->known : hc_known_new();
    hc_float_state_undo("a library of this program", "started");
    enum hc_status status =
        hc_backend_open(hc_run_exact(options), &queues->exact, options->threads);
    if (status != HC_OK)
        queues->exact = NULL; /* whatever a failed open has left there */
    for (int b = 0; b < options->backend_count && status == HC_OK; b++) {
        const struct hc_backend *backend = options->backends[b];
        if (!backend->unavailable || !backend->unavailable())
            status = hc_backend_open(backend, &queues->by_backend[b], options->threads);
        if (status != HC_OK)
            queues->by_backend[b] = NULL;
    }
    return status;
}

void hc_run_queues_close(const struct hc_run_options *options, struct hc_run_queues *queues)
{
    for (int b = 0; b < options->backend_count; b++)
        if (queues->by_backend[b])
            options->backends[b]->close(queues->by_backend[b]);
    if (queues->exact)
        hc_run_exact(options)->close(queues->exact);
    if (!options->known)
        hc_known_free(queues->known);
}

void hc_run_queues_tell(const struct hc_run_options *options, const struct hc_run_queues *queues)
{
    for (int b = 0; b < options->backend_count && options->closing; b++)
        if (queues->by_backend[b])
            options->closing(options->backends[b], queues->by_backend[b], options->context);
}

void hc_case_run_begin(const struct hc_run_options *options, const struct hc_case_run *unit)
{
    if (options->starting)
        options->starting(unit->what,
                          unit->backend < 0 ? "-" : options->backends[unit->backend]->name,
                          options->context);
}

/* The threads of OpenMP's that this thread works with, by the clocks of what each has computed: to
   wake them all after each case would take longer than most cases do. */
enum { MAX_TEAM = 64 };
struct team {
    int n; /* the threads beside this one; 0 if they are not known */
    clockid_t clock[MAX_TEAM];
    struct timespec computed[MAX_TEAM]; /* when the case began */
};
static _Thread_local struct team team;

static bool computed(int thread, struct timespec *time)
{
    return clock_gettime(team.clock[thread], time) == 0;
}

static void note_team(void)
{
    for (int i = 0; i < team.n; i++)
        if (!computed(i, &team.computed[i]))
            team.n = 0;
}

/* Whether no thread beside this one has run since note_team: what did not run has set nothing. */
static bool slept(void)
{
    for (int i = 0; i < team.n; i++) {
        const struct timespec *then = &team.computed[i];
        struct timespec since;
        if (!computed(i, &since) || since.tv_sec != then->tv_sec || since.tv_nsec != then->tv_nsec)
            return false;
    }
    return team.n > 0;
}

/* Where the clock of the thread that calls is not to be had, each case wakes all threads. */
static bool own_clock(clockid_t *clock)
{
#if defined _POSIX_THREAD_CPUTIME && _POSIX_THREAD_CPUTIME >= 0
    return pthread_getcpuclockid(pthread_self(), clock) == 0;
#else
    (void)clock;
    return false;
#endif
}

/* What some thread of a parallel loop had set otherwise, or NULL. */
static const char *reset_all_threads(void)
{
    const char *left = NULL;
    struct team *all = &team;
    int others = 0;
    bool all_known = true;
#pragma omp parallel
    {
        const char *here = hc_float_state_reset();
        int i = omp_get_thread_num() - 1;
        bool known = i < 0 || (i < MAX_TEAM && own_clock(&all->clock[i]));
#pragma omp critical(hc_float_state)
        {
            left = here ? here : left;
            others += i >= 0;
            all_known &= known;
        }
    }
    all->n = all_known ? others : 0;
    return left;
}

/* After each guarded call the thread is looked at (check/guarded.c); calls of a training are not
   guarded, and neither are the threads that a kernel started. */
static void check_threads(struct hc_check *check)
{
    char line[128];
    const char *left = slept() ? hc_float_state_reset() : reset_all_threads();
    if (!left)
        return;
    (void)snprintf(line, sizeof line, "some kernel leaves %s in a thread", left);
    hc_check_breach(check, check->result.backend, line);
}

static _Thread_local const struct hc_case_run *now;
static const struct hc_case_run *_Atomic latest;

const struct hc_case_run *hc_case_run_now(bool *sure)
{
    *sure = now != NULL;
    return now ? now : latest;
}

void hc_case_run_do(const struct hc_run_options *options, const struct hc_case_run *unit,
                    const struct hc_run_queues *queues, struct hc_check *check)
{
    const struct hc_backend *backend = unit->backend < 0 ? NULL : options->backends[unit->backend];
    *check = (struct hc_check){.what = unit->what,
                               .backend = backend,
                               .queue = backend ? queues->by_backend[unit->backend] : NULL,
                               .exact = hc_run_exact(options),
                               .exact_queue = queues->exact,
                               .backends = options->backends,
                               .backend_count = options->backend_count,
                               .seed = options->seed,
                               .level = options->level,
                               .bits_only = options->bits_only,
                               .order = options->order,
                               .omissions = options->omissions,
                               .known = queues->known,
                               .story = options->story};
    check->result = (struct hc_result){.what = unit->what,
                                       .backend = backend ? backend->name : "-",
                                       .seed = options->seed,
                                       .implementation = (double)NAN,
                                       .line = (double)NAN,
                                       .format = (double)NAN};
    now = unit;
    latest = unit;
    double start = hc_clock();
    int64_t own_calls = hc_own_calls();
    note_team();
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
    now = NULL;
}

/* What must be taken is a claim like any other, and a refusal of it fails. A stated order to which
   the backend is not held is no refusal. */
static void hold_to_required(const struct hc_run_options *options, struct hc_check *check)
{
    char why[sizeof check->result.note];
    if (options->required_count == 0 || check->order_stated ||
        check->result.verdict != HC_UNIMPLEMENTED ||
        !hc_matches(options->required, options->required_count, check->what->name))
        return;
    memcpy(why, check->result.note, sizeof why);
    check->result.verdict = HC_PASS; /* so that the comparison counts */
    (void)hc_check_compared(check, 1, 0, "claims");
    (void)hc_text_write(check->result.note, sizeof check->result.note,
                        "--require asks that it be taken: %s", why);
}

bool hc_case_run_report(const struct hc_run_options *options, struct hc_check *check)
{
    hold_to_required(options, check);
    bool lacks = check->backend && (check->backend->partial || check->lacks);
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
