/* Runs cases on backends. */
#ifndef HC_CHECK_RUNNER_H
#define HC_CHECK_RUNNER_H

#include <stdio.h>

#include "check/check.h"

struct hc_run_options {
    const struct hc_case *const *cases; /* all there are, by name */
    int case_count;
    const char *const *patterns; /* globs over case names; none: all */
    int pattern_count;
    const struct hc_backend *const *backends; /* those to run on */
    int backend_count;
    enum hc_level level;
    uint64_t seed;
    int threads; /* 0: one per core */
    FILE *trace; /* for hc_say, or NULL */
};

/* Whether a name is chosen by the options' patterns ('*' matches '/' too). */
bool hc_case_chosen(const struct hc_run_options *options, const struct hc_case *what);

/* Calls `report` with each result as it comes, in the order of the cases and then of the backends; stops
   early when it returns false. The result lives only as long as the call. Returns HC_INVALID when a
   pattern matches no case. A backend that is unavailable yields SKIPPED results. */
enum hc_status hc_run_cases(const struct hc_run_options *options,
                            bool (*report)(const struct hc_result *result, void *context),
                            void *context);

#endif
