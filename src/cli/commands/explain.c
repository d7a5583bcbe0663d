/* halfcheck explain: one case, with its claim, its source and its numbers; a group of cases; or an
   op's contract. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "cases/components.h"
#include "cases/definitions.h"
#include "cases/fixture/quote.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/check.h"
#include "check/record/former.h"
#include "check/runner.h"
#include "cli/backend_options.h"
#include "cli/bug.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/contract.h"
#include "cli/define/define.h"
#include "define/gradient/adjoint.h"
#include "define/library.h"
#include "op/text.h"
#include "op/typed.h"
#include "op/wrap.h"

/* Where the text behind a label begins. */
enum { EXPLAIN_INDENT = 10 };

/* Prints what a backend says of the calls that it ran: engines of libraries, its own loops. */

/* More facts than these, as of a GPU with units for all formats, would fill the screen. */
enum { FACT_INDENT = 10, MAX_FACTS = 16 };

/* What a backend tells without a queue is of the machine. It comes first with one, too. The texts
   may be another program's. */
struct facts {
    int of_machine;
    int printed;
};

static void count_fact(const char *name, const char *text, void *context)
{
    (void)name;
    (void)text;
    ((struct facts *)context)->of_machine++;
}

static void print_fact(const char *name, const char *text, void *context)
{
    struct facts *facts = context;
    char line[512];
    char safe[512] = "";
    char character[5];
    const char *at = line;
    if (facts->printed++ < facts->of_machine || facts->printed - facts->of_machine > MAX_FACTS)
        return;
    (void)snprintf(line, sizeof line, "%s: %s", name, text);
    for (size_t length = 0, more; (more = hc_text_next(&at, character)) > 0; length += more)
        if (length + more < sizeof safe)
            memcpy(safe + length, character, more + 1);
    hc_print_wrapped(stdout, printf("  says    "), FACT_INDENT, safe);
}

/* For the slot `closing` of a run: a line on standard output for each fact. */
static void print_facts(const struct hc_backend *backend, struct hc_queue *queue, void *context)
{
    struct facts facts = {0};
    (void)context;
    if (!backend->describe)
        return;
    backend->describe(NULL, count_fact, &facts);
    backend->describe(queue, print_fact, &facts);
    if (facts.printed - facts.of_machine > MAX_FACTS)
        printf("  says    and %d more, which a record of `halfcheck run` has\n",
               facts.printed - facts.of_machine - MAX_FACTS);
}

/* A result in words, as `halfcheck explain` ends with. */

/* Where the error comes from, as shares of the bound. */
static void print_answers(const struct hc_result *result)
{
    if (result->error == 0 || isnan(result->implementation) || isnan(result->format))
        return;
    hc_print(stdout, "  of the bound, the implementation (got against exact) uses %.3g\n",
             result->implementation);
    hc_print(stdout, "  and the format (exact against real) %.3g\n", result->format);
}

/* How near the result came to its bound, in words where the numbers would be zeros. */
static void error_text(const struct hc_result *result, char *text, size_t size)
{
    bool truths = strcmp(result->unit, "claims") == 0;
    bool counts = strcmp(result->unit, "bits") == 0;
    *text = '\0';
    if (result->error == 0 && result->bound == 0)
        (void)snprintf(text, size, ", all %s", truths ? "hold" : "equal to the bit");
    else if (result->error == 0)
        (void)hc_text_write(text, size, "; every error is 0, bound %.4g %s", result->bound,
                            result->unit);
    else if (result->bound > 0)
        (void)hc_text_write(text, size, "; error %.4g, bound %.4g %s, error/bound %.3g",
                            result->error, result->bound, result->unit,
                            hc_ratio(result->error, result->bound));
    else if (!truths)
        (void)hc_text_write(text, size, "; %s%.4g %s", counts ? "" : "error ", result->error,
                            counts ? "differ" : result->unit);
}

/* Prints the verdict, how near the result came to its bound, and its note, on stdout; `answers`:
   also which share of the bound is the implementation's and which is the format's. The output is at
   `column`. */
static void print_verdict(const struct hc_result *result, int column, bool answers)
{
    const char *verdict = hc_verdict_names[result->verdict];
    char error[160];
    char line[240];
    error_text(result, error, sizeof error);
    (void)snprintf(line, sizeof line, ": %lld checked%s", (long long)result->checked, error);
    column += hc_colour_word(stdout, hc_colour_of(result->verdict), 0, verdict);
    if (result->checked)
        hc_print_wrapped(stdout, column, 6, line);
    else
        (void)putchar('\n');
    if (result->note[0])
        hc_print_wrapped(stdout, printf("  "), 2, result->note);
    if (answers)
        print_answers(result);
}

/* A case that is explained, and its results so far. */
struct explained {
    const struct hc_case *what;
    struct hc_run_options run;
    bool all;    /* print all claims, line by line */
    int printed; /* results */
    int failed;
    int errors;
    int checked;
};

static void count_result(struct explained *explained, const struct hc_result *result)
{
    explained->printed++;
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
    print_verdict(result, printf("  "), true);
    count_result(explained, result);
    return true;
}

/* The result on another backend. */
static bool report_shortly(const struct hc_result *result, void *context)
{
    print_verdict(result, printf("on %s: ", result->backend), false);
    count_result(context, result);
    return true;
}

/* Which backend's numbers come first: that of the lowest rank. A backend that the case is not about
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
   matrix unit, or the definitions, that the case asks. */
static void leave_idle_out(struct hc_run_options *run, const struct hc_case *what,
                           const struct hc_backend **backends)
{
    int kept = 0;
    for (int b = 0; b < run->backend_count; b++) {
        const char *const *own = &backends[b]->default_cases;
        bool able = !what->defined || backends[b]->defined;
        if (able && hc_case_asks(what, backends[b]) && (!*own || hc_matches(own, 1, what->name)))
            backends[kept++] = backends[b];
    }
    run->backend_count = kept;
}

/* Moves the backend whose numbers come first to the front. */
static void order_backends(const struct explained *explained, const struct hc_case *what,
                           bool asked, const struct hc_backend **backends)
{
    int first = 0;
    for (int b = 1; b < explained->run.backend_count; b++)
        if (rank(what, backends[b], asked) < rank(what, backends[first], asked))
            first = b;
    const struct hc_backend *chosen = backends[first];
    for (int b = first; b > 0; b--)
        backends[b] = backends[b - 1];
    backends[0] = chosen;
}

static enum hc_status explain_first(struct explained *explained)
{
    struct hc_run_options run = explained->run;
    run.backend_count = 1;
    run.report = report;
    run.closing = print_facts;
    explained->run.story = run.story = hc_story_new(explained->all);
    if (!run.story)
        return HC_NO_MEMORY;
    enum hc_status status = hc_run_cases(&run);
    hc_story_free(run.story);
    if (status == HC_OK && !explained->printed)
        printf("\non %s: left out\n", run.backends[0]->name);
    return status;
}

static enum hc_status explain_others(struct explained *explained, const struct hc_case *what)
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

static int explain_on_all(struct explained *explained, const struct hc_case *what)
{
    const struct hc_quote *quote = hc_quote_of(what);
    const struct hc_bug quoted = quote ? hc_quote_bug(quote) : (struct hc_bug){0};
    const struct hc_bug *bug = quote ? &quoted : hc_bug_of(what);
    const char *label = quote ? "quoted" : bug ? "symptom" : "claim";
    printf("%s\n", what->name);
    hc_print_wrapped(stdout, printf("  %-7s ", label), EXPLAIN_INDENT, what->title);
    hc_print_wrapped(stdout, printf("  source  "), EXPLAIN_INDENT, what->source);
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
    if (explain_first(explained) != HC_OK || explain_others(explained, what) != HC_OK)
        return hc_complain_message();
    if (bug)
        hc_bug_print_lesson(stdout, bug);
    if (quote && quote->shown_by)
        printf("  also    %s, whose claims are made here, too\n", quote->shown_by);
    if (explained->failed)
        return HC_CLAIM_FAILED;
    if (!explained->printed)
        return hc_complain("%s lacks an op, or a format, that %s needs",
                           explained->run.backends[0]->name, what->name);
    if (explained->errors)
        return hc_complain("%s ended with an error", what->name);
    return !explained->checked ? HC_WRONG : HC_AS_CLAIMED;
}

/* Prints the claim and the source of the case, then its numbers on the first of the run's backends
   (all claims one by one if `all`), then its verdict on each other one. The backends are put in the
   order of telling; unless they were `named` by the user, those that run other cases are left out.
   Returns one of enum hc_exit. */
static int explain_case(const struct hc_case *what, const struct hc_run_options *run,
                        const struct hc_backend **backends, bool named, bool all)
{
    struct explained explained = {.run = *run, .all = all};
    explained.run.backends = backends;
    if (!named)
        leave_idle_out(&explained.run, what, backends);
    order_backends(&explained, what, named, backends);
    return explain_on_all(&explained, what);
}

/* What `halfcheck explain` says where a word stands for several cases: "eps", "op/adam/". */

/* A group of more cases is printed as the groups that are in it. */
enum { LARGE = 60, GROUP_INDENT = 4 };

/* The number of cases whose names begin with the word, up to a slash, and the first of them, at
   *first. The cases are sorted by name. */
static int group_of(const struct hc_case *const *cases, int count, const char *word,
                    const struct hc_case *const **first)
{
    int n = 0;
    *first = NULL;
    for (int c = 0; c < count && !strpbrk(word, "*?["); c++)
        if (hc_matches(&word, 1, cases[c]->name)) {
            if (n++ == 0)
                *first = &cases[c];
        }
    return n;
}

static void print_cases(FILE *out, const struct hc_case *const *cases, int count)
{
    for (int c = 0; c < count; c++) {
        hc_colour_print(out, HC_COLOUR_STRONG, "%s", cases[c]->name);
        (void)fprintf(out, "\n%*s", GROUP_INDENT, "");
        hc_print_wrapped(out, GROUP_INDENT, GROUP_INDENT, cases[c]->title);
    }
}

/* The groups one slash deeper, in the order of their names. */
static void print_groups(FILE *out, const struct hc_case *const *cases, int count, size_t length)
{
    for (int c = 0; c < count;) {
        const char *name = cases[c]->name;
        const char *slash = strchr(name + length, '/');
        size_t group = slash ? (size_t)(slash - name) : strlen(name);
        int first = c;
        while (c < count && strncmp(cases[c]->name, name, group + (slash != NULL)) == 0)
            c++;
        hc_print(out, "%6d  %.*s\n", c - first, (int)group, name);
    }
}

static void print_next(FILE *out, const char *name, const char *word)
{
    if (name)
        hc_print(out, "\nnext: halfcheck explain %s shows its numbers\n", name);
    else
        hc_print(out, "\nnext: halfcheck explain with a name above lists that group\n");
    hc_print(out, "      halfcheck run %s checks all of them\n", word);
}

/* Prints the cases of a group with their claims; or, of a large one, the groups in it. */
static void print_group(FILE *out, const struct hc_case *const *cases, int count, const char *word)
{
    size_t length = strlen(word);
    bool slash = length > 0 && word[length - 1] == '/';
    const char *claims = hc_component_claims(word);
    char line[256];
    (void)snprintf(line, sizeof line, "%d cases%s%s", count, claims ? ": " : "",
                   claims ? claims : "");
    hc_colour_print(out, HC_COLOUR_STRONG, "%s", word);
    (void)fputs("  ", out);
    hc_print_wrapped(out, (int)length + 2, GROUP_INDENT, line);
    (void)fputc('\n', out);
    if (count > LARGE)
        print_groups(out, cases, count, slash ? length : length + 1);
    else
        print_cases(out, cases, count);
    print_next(out, count > LARGE ? NULL : cases[0]->name, word);
}

const struct hc_command hc_command_explain;

/* The case of that name, or the one that shows the report of that slug. */
static const struct hc_case *find_case(const struct hc_run_options *run, const char *name,
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

/* A report that stands elsewhere, or not at all. */
static void print_report(const struct hc_report *report)
{
    if (hc_report_is_named(report))
        return;
    if (report->shown_by) {
        printf("%s is shown by %s\n", report->slug, report->shown_by->name);
    } else {
        printf("%s\n", report->slug);
        hc_print_wrapped(stdout, printf("  source  "), EXPLAIN_INDENT, report->source);
        hc_print_wrapped(stdout, printf("  no case "), EXPLAIN_INDENT, report->reason);
    }
}

static int refuse_name(const struct hc_run_options *run, const char *name)
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

/* What the command line says. */
struct settings {
    struct hc_backend_options backends;
    struct hc_run_options run;
    int level;
    bool all; /* print all claims, line by line */
};

static bool read_settings(struct settings *s, int argc, char **argv, int *status)
{
    const struct hc_option options[] = {
        {.include = hc_backend_options(
             &s->backends, HC_SEVERAL_BACKENDS | HC_TAKES_ORDER | HC_TAKES_FALLBACK,
             "show the numbers on the first of these, and the verdict on the others\n"
             "(default: exact first, then all that can run here)")},
        {.name = "level",
         .value = "LEVEL",
         .choice = &s->level,
         .choices = hc_level_names,
         .help = "quick, standard (default) or exhaustive"},
        {.name = "seed",
         .value = "N",
         .seed = &s->run.seed,
         .help = "seed of all random inputs (default 0)"},
        {.include = hc_define_own_options()},
        {.name = "all", .flag = &s->all, .help = "print every claim, in the order made"},
        {0},
    };
    int words;
    if (!hc_read_options(&hc_command_explain, options, argc, argv, &words, status))
        return false;
    if (words != 1)
        *status = hc_complain(
            "explain needs exactly one CASE, SLUG, op/NAME or component; see: halfcheck list");
    return words == 1;
}

/* Explains the case, the report or the group of cases that the word stands for. */
static int explain(const struct settings *s, const char *word, const struct hc_backend **backends)
{
    const struct hc_report *report;
    const struct hc_case *what = find_case(&s->run, word, &report);
    if (!what && !report) {
        const struct hc_case *const *group;
        int grouped = group_of(s->run.cases, s->run.case_count, word, &group);
        if (grouped == 0)
            return refuse_name(&s->run, word);
        if (grouped > 1) {
            print_group(stdout, group, grouped, word);
            return HC_AS_CLAIMED;
        }
        what = group[0];
    }
    if (report)
        print_report(report);
    return what ? explain_case(what, &s->run, backends, s->backends.named.count > 0, s->all)
                : HC_AS_CLAIMED;
}

/* A definition of the library, with its gradient. */
static int explain_definition(const char *name)
{
    char *gradient = NULL;
    if (!hc_library_find(name))
        return hc_complain("there is no definition '%s'; halfcheck define lists them", name);
    struct hc_definition *definition = hc_define_open(name, NULL);
    if (!definition)
        return HC_WRONG;
    hc_define_print(definition, &hc_usual_freedoms);
    hc_define_print_allowable();
    enum hc_status status = hc_define_print_asked(definition);
    if (status == HC_OK)
        status = hc_adjoint_text(definition, &gradient);
    hc_definition_free(definition);
    if (status != HC_OK)
        return hc_complain_message();
    printf("\nIts gradient, which `halfcheck define %s --grad` prints:\n\n", name);
    for (const char *at = gradient; *at;) {
        int length = (int)strcspn(at, "\n");
        printf("  %.*s\n", length, at);
        at += length + (at[length] == '\n');
    }
    free(gradient);
    return HC_AS_CLAIMED;
}

static int run_explain(int argc, char **argv)
{
    int status;
    struct settings s = {.level = HC_STANDARD};
    const struct hc_backend *chosen[HC_MAX_BACKENDS];
    if (!read_settings(&s, argc, argv, &status))
        return status;
    if (hc_choose_backends(&s.backends, chosen, &s.run.backend_count) != HC_OK)
        return hc_complain_message();
    enum hc_op op =
        strncmp(argv[1], "op/", 3) == 0 ? hc_op_by_name(argv[1] + 3) : (enum hc_op)HC_OP_COUNT;
    if ((int)op < HC_OP_COUNT) {
        hc_contract_print(stdout, op);
        return HC_AS_CLAIMED;
    }
    if (strncmp(argv[1], "def/", 4) == 0 && !strchr(argv[1] + 4, '/'))
        return explain_definition(argv[1] + 4);
    s.run.order = hc_backend_order(&s.backends);
    s.run.fallback = s.backends.fallback;
    s.run.definitions = hc_define_own_words();
    s.run.level = (enum hc_level)s.level;
    const char *word = argv[1];
    if (hc_cases_for_patterns(&word, 1) != HC_OK)
        return hc_complain_message();
    s.run.cases = hc_all_cases(&s.run.case_count);
    return s.run.cases ? explain(&s, argv[1], chosen) : hc_complain_message();
}

const struct hc_command hc_command_explain = {
    .name = "explain",
    .usage = "CASE|SLUG|op/NAME|def/NAME|GROUP [options]",
    .summary = "show a case's claim, source and numbers, or an op's contract",
    .text = "CASE is the whole name of one case, as halfcheck list cases prints it. explain\n"
            "runs it on one backend, and prints on one screen what the case shows, what it\n"
            "claims, and the verdict. Claims of one kind share a line; --all prints each. Every\n"
            "other backend gets one line. SLUG is a report from the field, as halfcheck list\n"
            "reports prints it; explain shows its case. op/NAME is an op, as halfcheck list ops\n"
            "prints it; explain shows its inputs and outputs, with the formats and shapes that\n"
            "they may have. def/NAME is a definition, as halfcheck define prints it, with what\n"
            "its inputs look for, and its gradient. GROUP is a component, or the beginning of "
            "names up to a slash, such as\n"
            "eps or field/ties: explain lists its cases with their claims.",
    .run = run_explain,
};
