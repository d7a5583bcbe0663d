#include <stdio.h>
#include <string.h>

#include "cases/registry.h"
#include "cases/reports.h"
#include "check/former.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/contract.h"
#include "cli/explain_case.h"
#include "cli/explain_group.h"
#include "op/typed.h"
#include "op/wrap.h"

const struct hc_command hc_command_explain;

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
        hc_print_wrapped(stdout, printf("  source  "), HC_EXPLAIN_INDENT, report->source);
        hc_print_wrapped(stdout, printf("  no case "), HC_EXPLAIN_INDENT, report->reason);
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
    const struct hc_case *what = find(&s->run, word, &report);
    if (!what && !report) {
        const struct hc_case *const *group;
        int grouped = hc_group_of(s->run.cases, s->run.case_count, word, &group);
        if (grouped == 0)
            return refuse(&s->run, word);
        if (grouped > 1) {
            hc_print_group(stdout, group, grouped, word);
            return HC_AS_CLAIMED;
        }
        what = group[0];
    }
    if (report)
        print_report(report);
    return what ? hc_explain_case(what, &s->run, backends, s->backends.named.count > 0, s->all)
                : HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
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
    s.run.order = hc_backend_order(&s.backends);
    s.run.fallback = s.backends.fallback;
    s.run.level = (enum hc_level)s.level;
    s.run.cases = hc_all_cases(&s.run.case_count);
    return s.run.cases ? explain(&s, argv[1], chosen) : hc_complain_message();
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
