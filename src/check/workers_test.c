/* Cases side by side: nobody can tell from the results how many workers there were. */
#include <criterion/criterion.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "check/runner.h"

struct seen {
    char name[1024][96];
    double error[1024];
    double bound[1024];
    int64_t checked[1024];
    uint64_t digest[1024];
    enum hc_verdict verdict[1024];
    int count;
    int stop_after; /* 0: never */
    bool few;       /* only the first cases */
};

static bool keep(const struct hc_result *result, void *context)
{
    struct seen *seen = context;
    cr_assert_lt(seen->count, 1024);
    (void)snprintf(seen->name[seen->count], sizeof seen->name[0], "%s on %s", result->what->name,
                   result->backend);
    seen->error[seen->count] = result->error;
    seen->bound[seen->count] = result->bound;
    seen->checked[seen->count] = result->checked;
    seen->digest[seen->count] = result->digest;
    seen->verdict[seen->count++] = result->verdict;
    return seen->count != seen->stop_after;
}

static enum hc_status run(const struct hc_backend *const *backends, int count, int workers,
                          struct seen *seen)
{
    static const char *const patterns[] = {"eps/*", "op/add/*", "op/conv2d_bwd_filter/fp32/*",
                                           "scaler/*"};
    struct hc_run_options options = {.patterns = patterns,
                                     .pattern_count = seen->few ? 1 : 4,
                                     .backends = backends,
                                     .backend_count = count,
                                     .level = HC_STANDARD,
                                     .seed = 5,
                                     .workers = workers,
                                     .report = keep,
                                     .context = seen};
    options.cases = hc_all_cases(&options.case_count);
    return hc_run_cases(&options);
}

Test(workers, results_and_their_order_do_not_depend_on_their_number)
{
    static struct seen want;
    static struct seen got;
    const struct hc_backend *const both[] = {hc_backend_by_name("exact"),
                                             hc_backend_by_name("host")};
    cr_assert_eq(run(both, 2, 1, &want), HC_OK);
    cr_assert_gt(want.count, 150);
    static const int workers[] = {2, 5, 100};
    size_t n = getenv("HALFCHECK_SHORT_TESTS") ? 1 : sizeof workers / sizeof *workers;
    for (size_t i = 0; i < n; i++) {
        memset(&got, 0, sizeof got);
        cr_assert_eq(run(both, 2, workers[i], &got), HC_OK);
        cr_expect_eq(memcmp(&got, &want, sizeof got), 0, "%d workers", workers[i]);
    }
}

static int threads_asked; /* by the queue that was opened last */

static enum hc_status open_and_note(const struct hc_backend *backend, struct hc_queue **queue,
                                    int threads)
{
    threads_asked = threads;
    return hc_backend_by_name("exact")->open(backend, queue, threads);
}

Test(workers, share_the_cores_and_have_two_threads_at_least)
{
    static struct seen got = {.few = true};
    struct hc_backend noted = *hc_backend_by_name("exact");
    const struct hc_backend *const backends[] = {&noted};
    int cores = omp_get_num_procs();
    noted.open = open_and_note;
    for (int workers = 1; workers <= 8; workers++) {
        int share = (cores + workers - 1) / workers;
        int want = workers == 1 ? 0 : share > 2 ? share : cores < 2 ? cores : 2; /* 0: all */
        got.count = 0;
        cr_assert_eq(run(backends, 1, workers, &got), HC_OK);
        cr_expect_eq(threads_asked, want, "%d workers: %d", workers, threads_asked);
        cr_expect_eq(omp_get_max_threads(), cores);
    }
}

Test(workers, a_run_that_is_stopped_reports_what_came_before_and_nothing_after)
{
    static struct seen want;
    static struct seen got = {.stop_after = 7};
    const struct hc_backend *const exact[] = {hc_backend_by_name("exact")};
    cr_assert_eq(run(exact, 1, 1, &want), HC_OK);
    cr_assert_eq(run(exact, 1, 3, &got), HC_OK);
    cr_assert_eq(got.count, 7);
    for (int i = 0; i < 7; i++)
        cr_expect_str_eq(got.name[i], want.name[i]);
}

static int opens_left;

static enum hc_status open_twice(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    if (opens_left-- <= 0)
        return hc_fail(HC_NO_MEMORY, "no third queue");
    return hc_backend_by_name("exact")->open(backend, queue, threads);
}

Test(workers, a_queue_that_cannot_be_opened_ends_the_run_with_its_line)
{
    static struct seen got = {.few = true};
    struct hc_backend scarce = *hc_backend_by_name("exact");
    const struct hc_backend *const backends[] = {&scarce};
    scarce.open = open_twice;
    for (opens_left = 2; opens_left >= 0; opens_left--) {
        int left = opens_left;
        cr_expect_eq(run(backends, 1, 3, &got), HC_NO_MEMORY);
        cr_expect_str_eq(hc_message(), "no third queue");
        opens_left = left;
    }
}
