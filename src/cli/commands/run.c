#include <stdio.h>

#include "cases/registry.h"
#include "check/runner.h"
#include "cli/choose.h"
#include "cli/command.h"

const struct hc_command hc_command_run;

static bool print(const struct hc_result *result, void *context)
{
    (void)context;
    printf("%-13s %-40s %-8s %8lld %.3g %.3g %s\n", hc_verdict_names[result->verdict],
           result->what->name, result->backend, (long long)result->checked, result->error,
           result->bound, result->note);
    return true;
}

static int run(int argc, char **argv)
{
    static const char *const levels[] = {"quick", "standard", "exhaustive", NULL};
    const char *backends = NULL;
    int level = HC_STANDARD;
    struct hc_run_options o = {0};
    const struct hc_option options[] = {
        {.name = "backend", .value = "B[,B]", .help = "run on these only", .text = &backends},
        {.name = "level",
         .value = "LEVEL",
         .help = "quick, standard (default) or exhaustive",
         .choice = &level,
         .choices = levels},
        {.name = "seed",
         .value = "N",
         .help = "seed of all random inputs (default 0)",
         .seed = &o.seed},
        {0},
    };
    int status;
    if (!hc_read_options(&hc_command_run, options, argc, argv, &o.pattern_count, &status))
        return status;
    const struct hc_backend *chosen[HC_MAX_BACKENDS];
    if (hc_choose_backends(backends, chosen, &o.backend_count) != HC_OK)
        return hc_complain_message();
    o.level = (enum hc_level)level;
    o.backends = chosen;
    o.patterns = (const char *const *)argv + 1;
    o.cases = hc_all_cases(&o.case_count);
    return hc_run_cases(&o, print, NULL) == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

const struct hc_command hc_command_run = {
    .name = "run",
    .usage = "[PATTERN...] [options]",
    .summary = "check the components on every backend",
    .run = run,
};
