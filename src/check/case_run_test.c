/* What a kernel leaves behind in the threads that it started, which sleep between cases. */
#include "check/case_run.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <omp.h>
#include <string.h>

#include "cases/registry.h"
#include "check/runner.h"

enum { LEAVES = 5, WORKS = 8 }; /* the cases in which the other thread is woken */

static int cases; /* that have begun */
static int done;  /* the last one in which a kernel has done so */

/* Adds; and once in two of the cases another thread works, which in the first of them rounds in
   another direction from then on. */
static enum hc_status add(struct hc_queue *queue, const struct hc_call *call)
{
    bool now = (cases == LEAVES || cases == WORKS) && done != cases;
    if (now) {
        done = cases;
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1 && cases == LEAVES)
            (void)fesetround(FE_UPWARD);
    }
    return hc_backend_by_name("exact")->kernel[HC_OP_add](queue, call);
}

static void starting(const struct hc_case *what, const char *backend, void *context)
{
    (void)what;
    (void)backend;
    (void)context;
    cases++;
}

static bool look(const struct hc_result *result, void *context)
{
    int *failed = context;
    bool fails = result->verdict == HC_FAIL;
    cr_expect_eq(fails, cases == LEAVES, "case %d, %s: %s", cases, result->what->name,
                 result->note);
    if (fails)
        cr_expect(strstr(result->note, "another rounding than to nearest in a thread"), "%s",
                  result->note);
    *failed += fails;
    return true;
}

Test(case_run, that_leaves_a_rounding_in_another_thread_fails_and_no_other)
{
    static const char *const patterns[] = {"op/add/fp32/*"};
    struct hc_backend leaves = *hc_backend_by_name("exact");
    const struct hc_backend *const backends[] = {&leaves};
    int failed = 0;
    leaves.kernel[HC_OP_add] = add;
    struct hc_run_options options = {.patterns = patterns,
                                     .pattern_count = 1,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .level = HC_STANDARD,
                                     .workers = 1,
                                     .threads = 2,
                                     .starting = starting,
                                     .report = look,
                                     .context = &failed};
    options.cases = hc_all_cases(&options.case_count);
    cr_assert_eq(hc_run_cases(&options), HC_OK);
    cr_expect_gt(cases, WORKS);
    cr_expect_eq(done, WORKS);
    cr_expect_eq(failed, 1);
}
