#include "cli/catches/inquiry.h"

#include <stdlib.h>

#include "cases/registry.h"

static bool keep(const struct hc_result *result, void *context)
{
    struct hc_inquiry *inquiry = context;
    if (!result->exhibits) {
        inquiry->without[inquiry->without_count++] = result->what;
        return true;
    }
    inquiry->status = hc_catch_judge(result->what->name, hc_bug_of(result->what), result->exhibits,
                                     &inquiry->row[inquiry->count++]);
    return inquiry->status == HC_OK;
}

static bool has(const struct hc_inquiry *inquiry, const struct hc_case *what)
{
    for (int i = 0; i < inquiry->count; i++)
        if (inquiry->row[i].name == what->name)
            return true;
    for (int i = 0; i < inquiry->without_count; i++)
        if (inquiry->without[i] == what)
            return true;
    return false;
}

/* A backend that lacks an op or fp64 makes no result of a case that needs it. */
static void add_left_out(struct hc_inquiry *inquiry, const struct hc_run_options *run)
{
    for (int i = 0; i < run->case_count; i++)
        if (hc_matches(run->patterns, run->pattern_count, run->cases[i]->name) &&
            !has(inquiry, run->cases[i]))
            inquiry->without[inquiry->without_count++] = run->cases[i];
}

enum hc_status hc_inquire(const struct hc_backend *backend, const char *const *patterns,
                          int pattern_count, struct hc_inquiry *inquiry)
{
    int n;
    int bugs = 0;
    const struct hc_case *const *all = hc_all_cases(&n);
    *inquiry = (struct hc_inquiry){.backend = backend->name, .all = pattern_count == 0};
    const struct hc_case **cases = all ? calloc((size_t)n + 1, sizeof(struct hc_case *)) : NULL;
    for (int i = 0; i < n && cases; i++)
        if (hc_bug_of(all[i]))
            cases[bugs++] = all[i];
    inquiry->row = calloc((size_t)bugs + 1, sizeof *inquiry->row);
    inquiry->without = calloc((size_t)bugs + 1, sizeof(struct hc_case *));
    struct hc_run_options run = {.cases = cases,
                                 .case_count = bugs,
                                 .patterns = patterns,
                                 .pattern_count = pattern_count,
                                 .backends = &backend,
                                 .backend_count = 1,
                                 .level = HC_STANDARD,
                                 .workers = hc_run_cores(),
                                 .report = keep,
                                 .context = inquiry};
    enum hc_status status = cases && inquiry->row && inquiry->without
                                ? hc_run_cases(&run)
                                : hc_fail(HC_NO_MEMORY, "no memory for the bugs");
    if (status == HC_OK)
        status = inquiry->status;
    if (status == HC_OK)
        add_left_out(inquiry, &run);
    hc_catch_sort(inquiry->row, status == HC_OK ? inquiry->count : 0);
    free(cases);
    return status;
}

void hc_inquiry_free(struct hc_inquiry *inquiry)
{
    free(inquiry->row);
    free(inquiry->without);
    *inquiry = (struct hc_inquiry){0};
}
