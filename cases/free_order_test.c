/* All quick cases on a backend of free order. None fails where its kernels are right in another
   order, and some do where they are wrong. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cases/registry.h"
#include "check/bound/manners.h"
#include "check/runner.h"

static struct hc_backend subject;

struct seen {
    int verdicts[HC_VERDICT_COUNT];
    char failed[1 << 14]; /* names, with blanks between */
};

static bool look(const struct hc_result *result, void *context)
{
    struct seen *seen = context;
    size_t used = strlen(seen->failed);
    seen->verdicts[result->verdict]++;
    if (result->verdict == HC_FAIL || result->verdict == HC_ERROR)
        (void)snprintf(seen->failed + used, sizeof seen->failed - used, "%s: %s\n",
                       result->what->name, result->note);
    return true;
}

static struct seen run(const char *pattern, enum hc_level level, const char *order,
                       struct hc_omissions *omissions)
{
    int count;
    const struct hc_case *const *cases = hc_all_cases(&count);
    const struct hc_backend *const backends[] = {&subject};
    struct seen seen = {.verdicts = {0}};
    struct hc_run_options options = {.cases = cases,
                                     .case_count = count,
                                     .patterns = &pattern,
                                     .pattern_count = pattern != NULL,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .level = level,
                                     .order = order,
                                     .seed = 1,
                                     .threads = 1,
                                     .report = look,
                                     .omissions = omissions,
                                     .context = &seen};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    return seen;
}

static int of_another_order(const struct hc_omissions *omissions)
{
    int count = 0;
    for (int i = 0; i < omissions->count; i++)
        count += omissions->row[i].count[HC_OMITTED_ORDER];
    return count;
}

Test(free_order, no_case_fails_on_right_kernels_in_another_order)
{
    struct hc_omissions omissions = {0};
    subject = other_of_all();
    subject.concurrent = false; /* each thread has a manner of its own */
    manner = FUSED;
    struct seen seen = run(NULL, HC_QUICK, NULL, &omissions);
    cr_expect_eq(strlen(seen.failed), 0, "%s", seen.failed);
    cr_expect_gt(seen.verdicts[HC_PASS], 100);
    cr_expect_gt(of_another_order(&omissions), 0);
    hc_omissions_free(&omissions);
    /* These run in this thread, on backends that others may call meanwhile. */
    subject.concurrent = true;
    seen = run("memory/touches-stay-inside", HC_QUICK, NULL, &omissions);
    cr_expect_eq(strlen(seen.failed), 0, "%s", seen.failed);
    cr_expect_eq(seen.verdicts[HC_PASS], 1);
    hc_omissions_free(&omissions);
}

/* Welford's batch norm, an optimizer of folded coefficients, a clip that divides once. */
Test(free_order, no_component_fails_in_any_order)
{
    static const char *const patterns[] = {"clipping", "batchnorm", "optimizer", "eps", "decay"};
    subject = other_of_all();
    subject.concurrent = false;
    for (manner = IN_FP64; manner < RIGHT_MANNERS; manner++)
        for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
            struct hc_omissions omissions = {0};
            struct seen seen = run(patterns[p], HC_QUICK, NULL, &omissions);
            cr_expect_eq(strlen(seen.failed), 0, "manner %d: %s", (int)manner, seen.failed);
            hc_omissions_free(&omissions);
        }
}

/* What is left out without --order fails with it. */
Test(free_order, a_case_that_states_an_order_fails_only_if_it_was_asked_for)
{
    struct hc_omissions omissions = {0};
    subject = other_backend();
    manner = FUSED;
    struct seen seen = run("bits/adamw/fp32", HC_QUICK, NULL, &omissions);
    cr_expect_eq(of_another_order(&omissions), 1);
    cr_expect_eq(seen.verdicts[HC_FAIL], 0);
    hc_omissions_free(&omissions);
    seen = run("bits/adamw/fp32", HC_QUICK, "ours", &omissions);
    cr_expect_eq(of_another_order(&omissions), 0);
    cr_expect_eq(seen.verdicts[HC_FAIL], 1);
    seen = run("bits/adamw/fp32", HC_QUICK, "torch-loop", &omissions);
    cr_expect_eq(of_another_order(&omissions), 1);
    seen = run("bits/add/fp32", HC_QUICK, NULL, &omissions);
    cr_expect_eq(seen.verdicts[HC_PASS], 1, "one right result needs no order");
    hc_omissions_free(&omissions);
}

/* An update that is rounded to bf16 on the way keeps no bound, whatever else is left out. */
Test(free_order, wrong_kernels_still_fail)
{
    struct hc_omissions omissions = {0};
    subject = other_backend();
    manner = THROUGH_BF16;
    cr_expect_gt(run("op/adamw/fp32/*", HC_QUICK, NULL, &omissions).verdicts[HC_FAIL], 0);
    hc_omissions_free(&omissions);
}
