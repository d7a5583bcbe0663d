#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/quote.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/former.h"
#include "check/record/rows.h"
#include "cli/bug.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/contract.h"
#include "cli/explain_group.h"
#include "cli/says.h"
#include "cli/verdict.h"
#include "op/wrap.h"
#include "op/typed.h"

const struct hc_command hc_command_explain;

enum { INDENT = 10 };

/* A case that is explained, and its results so far. */
struct explained {
    const struct hc_case *what;
    struct hc_run_options run;
    bool all; /* print all claims, line by line */
    int told; /* results */
    int failed;
    int errors;
    int checked;
};

static void count(struct explained *explained, const struct hc_result *result)
{
    explained->told++;
    explained->failed += result->verdict == HC_FAIL;
    explained->errors += result->verdict == HC_ERROR;
    explained->checked += result->verdict != HC_SKIPPED;
}

/* The result on the first backend, with the story. */
static bool report(const struct hc_result *result, void *context)
{
    struct explained *explained = context;
    if (result->what->once)
        (void)putchar('\n');
    else
        printf("\non %s:\n", result->backend);
    hc_story_print(explained->run.story, stdout);
    (void)putchar('\n');
    hc_print_verdict(result, printf("  "), true);
    count(explained, result);
    return true;
}

/* The result on another backend. */
static bool report_shortly(const struct hc_result *result, void *context)
{
    hc_print_verdict(result, printf("on %s: ", result->backend), false);
    count(context, result);
    return true;
}

/* The case of that name, or the one that shows the report of that slug. */
static const struct hc_case *find(const struct hc_run_options *run, const char *name,
                                  const struct hc_report **report)
{
    hc_case_name current;
    *report = NULL;
    if (hc_current_name(name, current))
        name = current;
    for (int i = 0; i < run->case_count; i++)
        if (strcmp(run->cases[i]->name, name) == 0)
            return run->cases[i];
    *report = hc_report_by_slug(name);
    return *report ? (*report)->shown_by : NULL;
}

/* A report that is told elsewhere, or not at all. */
static void print_report(const struct hc_report *report)
{
    if (hc_report_is_named(report))
        return;
    if (report->shown_by) {
        printf("%s is shown by %s\n", report->slug, report->shown_by->name);
    } else {
        printf("%s\n", report->slug);
        hc_print_wrapped(stdout, printf("  source  "), INDENT, report->source);
        hc_print_wrapped(stdout, printf("  no case "), INDENT, report->reason);
    }
}

static int refuse(const struct hc_run_options *run, const char *name)
{
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char op_name[64];
        (void)snprintf(op_name, sizeof op_name, "op/%s", hc_ops[op].name);
        hc_nearest_try(&nearest, op_name);
        if (strcmp(hc_ops[op].name, name) == 0)
            hc_nearest_take(&nearest, op_name);
    }
    for (int i = 0; i < run->case_count; i++) {
        char component[HC_LONGEST_NAME + 1];
        (void)snprintf(component, sizeof component, "%.*s", (int)strcspn(run->cases[i]->name, "/"),
                       run->cases[i]->name);
        hc_nearest_try(&nearest, component);
        hc_nearest_try(&nearest, run->cases[i]->name);
    }
    int reports;
    const struct hc_report *report = hc_reports(&reports);
    for (int i = 0; i < reports; i++)
        hc_nearest_try(&nearest, report[i].slug);
    return hc_complain("no case or op '%s'%s; see: halfcheck list, halfcheck find WORDS", name,
                       hc_nearest_hint(&nearest));
}

/* Which backend's story is told: that of the lowest rank. A backend that the case is not about
   comes last. Unless backends were named, `exact` comes first, and one that lacks ops after the
   others. */
static int rank(const struct hc_case *what, const struct hc_backend *backend, bool asked)
{
    bool exact = strcmp(backend->name, "exact") == 0;
    if (what->against_exact && exact)
        return 3;
    return asked ? 1 : exact ? 0 : backend->partial ? 2 : 1;
}

/* Leaves out the backends that run only other cases unless they are named, and those without the
   matrix unit that the case asks. */
static void leave_idle_out(struct hc_run_options *run, const struct hc_case *what,
                           const struct hc_backend **backends)
{
    int kept = 0;
    for (int b = 0; b < run->backend_count; b++) {
        const char *const *own = &backends[b]->default_cases;
        if (hc_case_asks(what, backends[b]) && (!*own || hc_matches(own, 1, what->name)))
            backends[kept++] = backends[b];
    }
    run->backend_count = kept;
}

/* Moves the backend whose story is told to the front. */
static void order_backends(const struct explained *explained, const struct hc_case *what,
                           bool asked, const struct hc_backend **backends)
{
    int first = 0;
    for (int b = 1; b < explained->run.backend_count; b++)
        if (rank(what, backends[b], asked) < rank(what, backends[first], asked))
            first = b;
    const struct hc_backend *told = backends[first];
    for (int b = first; b > 0; b--)
        backends[b] = backends[b - 1];
    backends[0] = told;
}

static enum hc_status tell_first(struct explained *explained)
{
    struct hc_run_options run = explained->run;
    run.backend_count = 1;
    run.report = report;
    run.closing = hc_print_facts;
    explained->run.story = run.story = hc_story_new(explained->all);
    if (!run.story)
        return HC_NO_MEMORY;
    enum hc_status status = hc_run_cases(&run);
    hc_story_free(run.story);
    if (status == HC_OK && !explained->told)
        printf("\non %s: left out\n", run.backends[0]->name);
    return status;
}

static enum hc_status tell_others(struct explained *explained, const struct hc_case *what)
{
    struct hc_run_options run = explained->run;
    run.story = NULL;
    run.report = report_shortly;
    if (run.backend_count == 1 || what->once)
        return HC_OK;
    (void)putchar('\n');
    run.backends++;
    run.backend_count--;
    bool exact_alone = what->against_exact && run.backend_count == 1 &&
                       strcmp(run.backends[0]->name, "exact") == 0;
    return exact_alone ? HC_OK : hc_run_cases(&run);
}

static int tell(struct explained *explained, const struct hc_case *what)
{
    const struct hc_quote *quote = hc_quote_of(what);
    const struct hc_bug quoted = quote ? hc_quote_bug(quote) : (struct hc_bug){0};
    const struct hc_bug *bug = quote ? &quoted : hc_bug_of(what);
    const char *label = quote ? "quoted" : bug ? "symptom" : "claim";
    printf("%s\n", what->name);
    hc_print_wrapped(stdout, printf("  %-7s ", label), INDENT, what->title);
    hc_print_wrapped(stdout, printf("  source  "), INDENT, what->source);
    hc_print_reports(stdout, what);
    if (bug)
        hc_bug_print_arms(stdout, bug);
    explained->what = what;
    explained->run.cases = &explained->what;
    explained->run.case_count = 1;
    explained->run.context = explained;
    if (what->level > explained->run.level)
        explained->run.level = what->level;
    (void)fflush(stdout); /* the case may take long */
    if (tell_first(explained) != HC_OK || tell_others(explained, what) != HC_OK)
        return hc_complain_message();
    if (bug)
        hc_bug_print_lesson(stdout, bug);
    if (quote && quote->shown_by)
        printf("  also    %s, whose claims are made here, too\n", quote->shown_by);
    if (explained->failed)
        return HC_CLAIM_FAILED;
    if (!explained->told)
        return hc_complain("%s lacks an op, or a format, that %s needs",
                           explained->run.backends[0]->name, what->name);
    if (explained->errors)
        return hc_complain("%s ended with an error", what->name);
    return !explained->checked ? HC_WRONG : HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    struct hc_backend_options backends;
    int level = HC_STANDARD;
    struct explained explained = {0};
    const struct hc_option options[] = {
        {.include = hc_backend_options(
             &backends, HC_SEVERAL_BACKENDS | HC_TAKES_ORDER | HC_TAKES_FALLBACK,
             "show the numbers on the first of these, and the verdict on the others\n"
             "(default: exact first, then all that can run here)")},
        {.name = "level",
         .value = "LEVEL",
         .choice = &level,
         .choices = hc_level_names,
         .help = "quick, standard (default) or exhaustive"},
        {.name = "seed",
         .value = "N",
         .seed = &explained.run.seed,
         .help = "seed of all random inputs (default 0)"},
        {.name = "all", .flag = &explained.all, .help = "print every claim, in the order made"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_explain, options, argc, argv, &words, &status))
        return status;
    if (words != 1)
        return hc_complain(
            "explain needs exactly one CASE, SLUG, op/NAME or component; see: halfcheck list");
    const struct hc_backend *chosen[HC_MAX_BACKENDS];
    if (hc_choose_backends(&backends, chosen, &explained.run.backend_count) != HC_OK)
        return hc_complain_message();
    enum hc_op op = strncmp(argv[1], "op/", 3) == 0 ? hc_op_by_name(argv[1] + 3) : HC_OP_COUNT;
    if (op < HC_OP_COUNT) {
        hc_contract_print(stdout, op);
        return HC_AS_CLAIMED;
    }
    explained.run.order = hc_backend_order(&backends);
    explained.run.fallback = backends.fallback;
    explained.run.backends = chosen;
    explained.run.level = (enum hc_level)level;
    explained.run.cases = hc_all_cases(&explained.run.case_count);
    if (!explained.run.cases)
        return hc_complain_message();
    const struct hc_report *report;
    const struct hc_case *what = find(&explained.run, argv[1], &report);
    const struct hc_case *const *group = NULL;
    int grouped = what || report
                      ? 0
                      : hc_group_of(explained.run.cases, explained.run.case_count, argv[1], &group);
    if (grouped > 1) {
        hc_print_group(stdout, group, grouped, argv[1]);
        return HC_AS_CLAIMED;
    }
    if (grouped == 1)
        what = group[0];
    if (!what && !report)
        return refuse(&explained.run, argv[1]);
    if (report)
        print_report(report);
    if (!what)
        return HC_AS_CLAIMED;
    if (backends.named.count == 0)
        leave_idle_out(&explained.run, what, chosen);
    order_backends(&explained, what, backends.named.count > 0, chosen);
    return tell(&explained, what);
}

const struct hc_command hc_command_explain = {
    .name = "explain",
    .usage = "CASE|SLUG|op/NAME|GROUP [options]",
    .summary = "show a case's claim, source and numbers, or an op's contract",
    .text = "CASE is the whole name of one case, as halfcheck list cases prints it. The case runs\n"
            "on one backend. What it shows is printed first, then what it claims, on one screen:\n"
            "claims of one kind share a line; --all prints each. Then comes the verdict. Every\n"
            "other backend gets one line.\n"
            "SLUG is a report from the field, as halfcheck list reports prints it: the case that\n"
            "shows it is explained.\n"
            "op/NAME is an op, as halfcheck list ops prints it: its inputs and outputs are shown,\n"
            "with the formats and shapes that they may have.\n"
            "GROUP is a component, or the beginning of names up to a slash, such as eps or\n"
            "field/ties: its cases are listed, with what they claim.",
    .run = run,
};
