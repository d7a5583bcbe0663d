#include <stdio.h>
#include <string.h>

#include "cases/registry.h"
#include "check/runner.h"

static bool print(const struct hc_result *result, void *context)
{
    (void)context;
    printf("%-13s %-40s %-8s %8lld %.3g %.3g %s\n", hc_verdict_names[result->verdict],
           result->what->name, result->backend, (long long)result->checked, result->error,
           result->bound, result->note);
    return true;
}

int main(int argc, char **argv)
{
    struct hc_run_options options = {.patterns = (const char *const *)argv + 2,
                                     .pattern_count = argc > 2 ? argc - 2 : 0};
    options.cases = hc_all_cases(&options.case_count);
    options.backends = hc_backends(&options.backend_count);
    enum hc_status status = hc_run_cases(&options, print, NULL);
    if (status != HC_OK)
        (void)fprintf(stderr, "halfcheck: %s\n", hc_message());
    return status == HC_OK ? 0 : 2;
}
