#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/registry.h"
#include "check/rows.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "op/text.h"
#include "op/typed.h"

const struct hc_command hc_command_explain;

/* What has been told so far. */
struct story {
    struct hc_run_options run;
    int failed;
    int errors;
    int checked;
};

static void starting(const struct hc_case *what, const char *backend, void *context)
{
    (void)context;
    if (!what->once)
        printf("\non %s:\n", backend);
    else
        (void)putchar('\n');
}

/* The three answers, in units of the bound. */
static void print_answers(const struct hc_result *result)
{
    if (isnan(result->implementation) || isnan(result->format))
        return;
    hc_print(stdout,
             "  of the bound, the implementation takes %.3g (against the format-exact value), the "
             "format %.3g\n",
             result->implementation, result->format);
}

static bool report(const struct hc_result *result, void *context)
{
    struct story *story = context;
    printf("\n  %s", hc_verdict_names[result->verdict]);
    if (result->checked)
        hc_print(stdout, ": %lld checked; error %.4g, bound %.4g %s, error/bound %.3g",
                 (long long)result->checked, result->error, result->bound, result->unit,
                 hc_ratio(result->error, result->bound));
    (void)putchar('\n');
    if (result->note[0])
        printf("  %s\n", result->note);
    print_answers(result);
    story->failed += result->verdict == HC_FAIL;
    story->errors += result->verdict == HC_ERROR;
    story->checked += result->verdict != HC_SKIPPED;
    return true;
}

static const struct hc_case *find(const struct hc_run_options *run, const char *name)
{
    for (int i = 0; i < run->case_count; i++)
        if (strcmp(run->cases[i]->name, name) == 0)
            return run->cases[i];
    return NULL;
}

static int refuse(const struct hc_run_options *run, const char *name)
{
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (int i = 0; i < run->case_count; i++)
        hc_nearest_try(&nearest, run->cases[i]->name);
    return hc_complain("no case '%s'%s; see: halfcheck list cases", name,
                       hc_nearest_hint(&nearest));
}

static int tell(struct story *story, const struct hc_case *what)
{
    printf("%s\n  claim   %s\n  source  %s\n", what->name, what->title, what->source);
    story->run.cases = &what;
    story->run.case_count = 1;
    story->run.starting = starting;
    story->run.report = report;
    story->run.context = story;
    story->run.trace = stdout;
    if (what->level > story->run.level)
        story->run.level = what->level;
    if (hc_run_cases(&story->run) != HC_OK)
        return hc_complain_message();
    if (story->failed)
        return HC_CLAIM_FAILED;
    return story->errors || !story->checked ? HC_WRONG : HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    const char *backends = "exact";
    int level = HC_STANDARD;
    struct story story = {0};
    const struct hc_option options[] = {
        {.name = "backend",
         .value = "B[,B]",
         .list = &backends,
         .help = "tell it on these backends (default exact)"},
        {.name = "level",
         .value = "LEVEL",
         .choice = &level,
         .choices = hc_level_names,
         .help = "quick, standard (default) or exhaustive"},
        {.name = "seed",
         .value = "N",
         .seed = &story.run.seed,
         .help = "seed of all random inputs (default 0)"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_explain, options, argc, argv, &words, &status))
        return status;
    if (words != 1)
        return hc_complain("explain: one case; see: halfcheck list cases");
    const struct hc_backend *chosen[HC_MAX_BACKENDS];
    if (hc_choose_backends(backends, chosen, &story.run.backend_count) != HC_OK)
        return hc_complain_message();
    story.run.backends = chosen;
    story.run.level = (enum hc_level)level;
    story.run.cases = hc_all_cases(&story.run.case_count);
    const struct hc_case *what = find(&story.run, argv[1]);
    if (!what)
        return refuse(&story.run, argv[1]);
    return tell(&story, what);
}

const struct hc_command hc_command_explain = {
    .name = "explain",
    .usage = "CASE [options]",
    .summary = "tell what a case claims, where from, and the numbers as it happens",
    .text = "CASE is the whole name of one case, as halfcheck list cases gives it. It is run, and\n"
            "every comparison that it makes is shown, then its verdict.",
    .run = run,
};
