#include "cli/explain_case.h"

#include <string.h>

#include "cases/fixture/quote.h"
#include "check/record/rows.h"
#include "cli/bug.h"
#include "cli/command.h"
#include "cli/says.h"
#include "cli/verdict.h"
#include "op/wrap.h"

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
    hc_print_wrapped(stdout, printf("  %-7s ", label), HC_EXPLAIN_INDENT, what->title);
    hc_print_wrapped(stdout, printf("  source  "), HC_EXPLAIN_INDENT, what->source);
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

int hc_explain_case(const struct hc_case *what, const struct hc_run_options *run,
                    const struct hc_backend **backends, bool named, bool all)
{
    struct explained explained = {.run = *run, .all = all};
    explained.run.backends = backends;
    if (!named)
        leave_idle_out(&explained.run, what, backends);
    order_backends(&explained, what, named, backends);
    return tell(&explained, what);
}
