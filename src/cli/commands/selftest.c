#include <stdio.h>

#include "cases/registry.h"
#include "check/fault.h"
#include "check/runner.h"
#include "check/timing.h"
#include "cli/command.h"

const struct hc_command hc_command_selftest;

/* The hunt for one fault. */
struct hunt {
    const struct hc_case *caught; /* the first case that failed with the fault and not without */
    const struct hc_case *failed; /* the last case that failed */
    enum hc_verdict sound;        /* what that case says of the sound backend */
    int ran;
};

static bool note_failure(const struct hc_result *result, void *context)
{
    struct hunt *hunt = context;
    hunt->ran++;
    if (result->verdict == HC_FAIL)
        hunt->failed = result->what;
    return true;
}

static bool note_verdict(const struct hc_result *result, void *context)
{
    struct hunt *hunt = context;
    hunt->sound = result->verdict;
    return true;
}

/* Runs one case on a backend. */
static enum hc_status run_case(const struct hc_case *what, const struct hc_backend *backend,
                               enum hc_level level,
                               bool (*report)(const struct hc_result *, void *), struct hunt *hunt)
{
    struct hc_run_options run = {.cases = &what,
                                 .case_count = 1,
                                 .backends = &backend,
                                 .backend_count = 1,
                                 .level = level,
                                 .report = report,
                                 .context = hunt};
    return hc_run_cases(&run);
}

/* Runs the case with the fault in the op and, if it fails, without. */
static enum hc_status try_case(const struct hc_fault *fault, const struct hc_case *what,
                               enum hc_level level, struct hunt *hunt)
{
    const struct hc_backend *sound = hc_backend_by_name(what->against_exact ? "host" : "exact");
    hunt->failed = NULL;
    enum hc_status status =
        run_case(what, hc_faulty_backend(sound, fault), level, note_failure, hunt);
    if (status != HC_OK || !hunt->failed)
        return status;
    status = run_case(what, sound, level, note_verdict, hunt);
    if (hunt->sound == HC_PASS)
        hunt->caught = what;
    return status;
}

/* Tries the cases that must catch the fault, the quick ones first, until one does. */
static enum hc_status hunt_down(const struct hc_fault *fault, struct hunt *hunt)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    enum hc_status status = HC_OK;
    for (int level = HC_QUICK; level <= HC_STANDARD; level++)
        for (int i = 0; i < n && status == HC_OK && !hunt->caught; i++)
            if (!cases[i]->once && (int)cases[i]->level == level &&
                hc_matches(&fault->pattern, 1, cases[i]->name))
                status = try_case(fault, cases[i], HC_STANDARD, hunt);
    return status;
}

static int run(int argc, char **argv)
{
    const struct hc_option options[] = {{0}};
    int words;
    int status;
    int survivors = 0;
    int tried = 0;
    int n;
    if (!hc_read_options(&hc_command_selftest, options, argc, argv, &words, &status))
        return status;
    const struct hc_fault *const *faults = hc_all_faults(&n);
    double start = hc_clock();
    for (int i = 0; i < n; i++) {
        struct hunt hunt = {0};
        if (!hc_matches((const char *const *)argv + 1, words, faults[i]->name))
            continue;
        tried++;
        if (hunt_down(faults[i], &hunt) != HC_OK)
            return hc_complain_message();
        survivors += !hunt.caught;
        printf("%-9s %-32s %-18s %s\n", hunt.caught ? "caught" : "SURVIVES", faults[i]->name,
               hc_ops[faults[i]->op].name, hunt.caught ? hunt.caught->name : faults[i]->title);
        if (!hunt.caught)
            printf("%10s%d cases match '%s', none fails because of it\n", "", hunt.ran,
                   faults[i]->pattern);
        (void)fflush(stdout);
    }
    if (!tried)
        return hc_complain("selftest: no fault to plant; see: halfcheck list faults");
    printf("\n%d of %d planted faults caught; %.1f s\n", tried - survivors, tried,
           hc_clock() - start);
    return survivors ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

const struct hc_command hc_command_selftest = {
    .name = "selftest",
    .usage = "[PATTERN...]",
    .summary = "plant every fault; each must be caught",
    .text =
        "Each fault of halfcheck list faults is planted in the backend exact, or in host for "
        "cases\n"
        "that compare with exact. It is caught when one of the cases named for it fails with the\n"
        "fault and passes without.",
    .run = run,
};
