#include "check/runner.h"

#include <assert.h>
#include <fnmatch.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "check/float_state.h"
#include "check/tally.h"
#include "check/timing.h"
#include "op/typed.h"

const char *const hc_level_names[] = {"quick", "standard", "exhaustive", NULL};

bool hc_matches(const char *const *patterns, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return count == 0;
}

static bool is_chosen(const struct hc_run_options *options, const struct hc_case *what)
{
    return hc_matches(options->patterns, options->pattern_count, what->name);
}

static bool runs(const struct hc_run_options *options, const struct hc_case *what)
{
    return what->level <= options->level && is_chosen(options, what);
}

static bool concerns(const struct hc_case *what, const struct hc_backend *backend)
{
    return !what->against_exact || strcmp(backend->name, "exact") != 0;
}

/* Beside the cases themselves what somebody may have meant are all of a component, or of an op. */
static enum hc_status no_case(const struct hc_run_options *options, const char *pattern)
{
    struct hc_nearest nearest = hc_nearest_to(pattern, strlen(pattern));
    for (int c = 0; c < options->case_count; c++) {
        const char *name = options->cases[c]->name;
        const char *before = c ? options->cases[c - 1]->name : "";
        for (const char *slash = name; (slash = strchr(slash, '/')) != NULL; slash++) {
            char family[HC_LONGEST_NAME + 1];
            size_t length = (size_t)(slash - name) + 1;
            (void)snprintf(family, sizeof family, "%.*s*", (int)length, name);
            if (strncmp(before, name, length) != 0)
                hc_nearest_try(&nearest, family);
        }
        hc_nearest_try(&nearest, name);
    }
    return hc_fail(HC_INVALID, "no case matches '%s'%s; see: halfcheck list cases", pattern,
                   hc_nearest_hint(&nearest));
}

static enum hc_status something_runs(const struct hc_run_options *options)
{
    int chosen = 0;
    int elsewhere = 0;
    for (int i = 0; i < options->pattern_count; i++) {
        int c = 0;
        while (c < options->case_count &&
               !hc_matches(&options->patterns[i], 1, options->cases[c]->name))
            c++;
        if (c == options->case_count)
            return no_case(options, options->patterns[i]);
    }
    for (int c = 0; c < options->case_count; c++) {
        chosen += is_chosen(options, options->cases[c]);
        elsewhere += runs(options, options->cases[c]);
    }
    if (hc_run_length(options) == 0 && elsewhere > 0)
        return hc_fail(HC_INVALID,
                       "the %d cases chosen compare another backend with exact; name one",
                       elsewhere);
    if (hc_run_length(options) == 0)
        return hc_fail(HC_INVALID, "none of the %d cases chosen runs at level %s; try --level %s",
                       chosen, hc_level_names[options->level],
                       hc_level_names[options->level + (options->level < HC_EXHAUSTIVE)]);
    return HC_OK;
}

int hc_run_length(const struct hc_run_options *options)
{
    int length = 0;
    for (int c = 0; c < options->case_count; c++) {
        const struct hc_case *what = options->cases[c];
        if (!runs(options, what))
            continue;
        length += what->once;
        for (int b = 0; b < options->backend_count && !what->once; b++)
            length += concerns(what, options->backends[b]);
    }
    return length;
}

struct queues {
    struct hc_queue *exact;
    struct hc_queue *by_backend[HC_MAX_BACKENDS]; /* NULL: unavailable */
};

static const struct hc_backend *exact_of(const struct hc_run_options *options)
{
    return options->exact ? options->exact : hc_backend_by_name("exact");
}

static void close_queues(const struct hc_run_options *options, struct queues *queues)
{
    for (int b = 0; b < options->backend_count; b++) {
        const struct hc_backend *backend = options->backends[b];
        struct hc_queue *queue = queues->by_backend[b];
        if (queue && options->closing)
            options->closing(backend, queue, options->context);
        if (queue)
            backend->close(queue);
    }
    if (queues->exact)
        exact_of(options)->close(queues->exact);
}

static enum hc_status open_queues(const struct hc_run_options *options, struct queues *queues)
{
    assert(options->backend_count <= HC_MAX_BACKENDS);
    if (options->threads > 0)
        omp_set_num_threads(options->threads);
    enum hc_status status = exact_of(options)->open(&queues->exact, options->threads);
    for (int b = 0; b < options->backend_count && status == HC_OK; b++) {
        const struct hc_backend *backend = options->backends[b];
        if (!backend->unavailable || !backend->unavailable())
            status = backend->open(&queues->by_backend[b], options->threads);
        if (status != HC_OK)
            queues->by_backend[b] = NULL; /* whatever a failed open has left there */
    }
    return status;
}

/* Calls between guards are looked at one by one (check/guarded.c); those of a training are not, nor are
   the threads that a kernel started. */
static void look_at_threads(struct hc_check *check)
{
    char line[128];
    const char *left = hc_float_state_reset_all();
    if (!left)
        return;
    (void)snprintf(line, sizeof line, "some kernel leaves %s in a thread", left);
    hc_tally_breach(check, check->result.backend, line);
}

/* Runs one case on backend `b`, or once (b < 0). Whether to go on. */
static bool run_one(const struct hc_run_options *options, const struct hc_case *what,
                    const struct queues *queues, int b)
{
    const struct hc_backend *backend = b < 0 ? NULL : options->backends[b];
    struct hc_check check = {.what = what,
                             .backend = backend,
                             .queue = b < 0 ? NULL : queues->by_backend[b],
                             .exact = exact_of(options),
                             .exact_queue = queues->exact,
                             .backends = options->backends,
                             .backend_count = options->backend_count,
                             .seed = options->seed,
                             .level = options->level,
                             .omissions = options->omissions,
                             .trace = options->trace};
    check.result = (struct hc_result){.what = what,
                                      .backend = backend ? backend->name : "-",
                                      .seed = options->seed,
                                      .implementation = (double)NAN,
                                      .line = (double)NAN,
                                      .format = (double)NAN};
    if (options->starting)
        options->starting(what, check.result.backend, options->context);
    double start = hc_clock();
    if (backend && !check.queue)
        hc_skip(&check, "%s", backend->unavailable());
    else
        hc_tally_run(&check);
    look_at_threads(&check);
    if (check.result.verdict == HC_PASS && check.result.checked == 0)
        hc_mistrust(&check, "no comparison was made");
    if (!check.result.unit)
        check.result.unit = "claims";
    check.result.seconds = hc_clock() - start;
    bool left_out = backend && (backend->partial || check.lacks_fp64) &&
                    check.result.verdict == HC_UNIMPLEMENTED;
    if (left_out && options->omissions)
        hc_omissions_add(options->omissions, &check.result, check.refused);
    bool more = left_out || options->report(&check.result, options->context);
    hc_tally_end(&check);
    return more;
}

enum hc_status hc_run_cases(const struct hc_run_options *options)
{
    struct queues queues = {0};
    enum hc_status status = something_runs(options);
    if (status != HC_OK)
        return status;
    status = open_queues(options, &queues);
    bool more = status == HC_OK;
    for (int c = 0; c < options->case_count && more; c++) {
        const struct hc_case *what = options->cases[c];
        if (!runs(options, what))
            continue;
        if (what->once)
            more = run_one(options, what, &queues, -1);
        for (int b = 0; b < options->backend_count && more && !what->once; b++)
            if (concerns(what, options->backends[b]))
                more = run_one(options, what, &queues, b);
    }
    close_queues(options, &queues);
    if (status == HC_OK && options->omissions && options->omissions->lost)
        return hc_fail(HC_NO_MEMORY, "no memory to count what was left out");
    return status;
}
