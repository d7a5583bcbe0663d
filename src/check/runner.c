#include "check/runner.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "check/tally.h"

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool hc_case_chosen(const struct hc_run_options *options, const struct hc_case *what)
{
    for (int i = 0; i < options->pattern_count; i++)
        if (fnmatch(options->patterns[i], what->name, 0) == 0)
            return true;
    return options->pattern_count == 0;
}

static enum hc_status every_pattern_matches(const struct hc_run_options *options)
{
    for (int i = 0; i < options->pattern_count; i++) {
        int c = 0;
        while (c < options->case_count &&
               fnmatch(options->patterns[i], options->cases[c]->name, 0) != 0)
            c++;
        if (c == options->case_count)
            return hc_fail(HC_INVALID, "no case matches '%s'; see: halfcheck list cases",
                           options->patterns[i]);
    }
    return HC_OK;
}

/* Runs one case; the backend may be NULL (a case that runs once) or unavailable (queue NULL). */
static bool run_one(const struct hc_run_options *options, const struct hc_case *what,
                    const struct hc_backend *backend, struct hc_queue *queue,
                    struct hc_queue *exact_queue,
                    bool (*report)(const struct hc_result *, void *), void *context)
{
    struct hc_check check = {.what = what,
                             .backend = backend,
                             .queue = queue,
                             .exact = hc_backend_by_name("exact"),
                             .exact_queue = exact_queue,
                             .seed = options->seed,
                             .level = options->level,
                             .trace = options->trace};
    check.result = (struct hc_result){.what = what,
                                      .backend = backend ? backend->name : "-",
                                      .seed = options->seed,
                                      .implementation = (double)NAN,
                                      .format = (double)NAN};
    double start = now();
    const char *why = backend && backend->unavailable ? backend->unavailable() : NULL;
    if (why)
        hc_skip(&check, "%s", why);
    else
        what->run(&check);
    if (check.result.verdict == HC_PASS && check.result.checked == 0)
        hc_mistrust(&check, "no comparison was made");
    if (!check.result.unit)
        check.result.unit = "claims";
    check.result.seconds = now() - start;
    hc_tally_end(&check);
    if (backend && backend->partial && check.result.verdict == HC_UNIMPLEMENTED)
        return true;
    return report(&check.result, context);
}

enum hc_status hc_run_cases(const struct hc_run_options *options,
                            bool (*report)(const struct hc_result *, void *), void *context)
{
    enum { MOST = 16 };
    struct hc_queue *queues[MOST] = {0};
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_queue *exact_queue = NULL;
    const struct hc_case *const *cases = options->cases;
    enum hc_status status = every_pattern_matches(options);
    if (status != HC_OK)
        return status;
    status = exact->open(&exact_queue, options->threads);
    for (int b = 0; b < options->backend_count && b < MOST && status == HC_OK; b++) {
        const struct hc_backend *backend = options->backends[b];
        if (!backend->unavailable || !backend->unavailable())
            status = backend->open(&queues[b], options->threads);
    }
    bool more = status == HC_OK;
    for (int c = 0; c < options->case_count && more; c++) {
        if (!hc_case_chosen(options, cases[c]) || cases[c]->level > options->level)
            continue;
        if (cases[c]->once)
            more = run_one(options, cases[c], NULL, NULL, exact_queue, report, context);
        for (int b = 0; b < options->backend_count && more && !cases[c]->once; b++)
            more = run_one(options, cases[c], options->backends[b], queues[b], exact_queue, report,
                           context);
    }
    for (int b = 0; b < options->backend_count && b < MOST; b++)
        if (queues[b])
            options->backends[b]->close(queues[b]);
    if (exact_queue)
        exact->close(exact_queue);
    return status;
}
