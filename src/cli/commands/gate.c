#include <string.h>

#include "cli/command.h"
#include "cli/gate/gate_do.h"

const struct hc_command hc_command_gate;

/* The options that say what is compared, and how. */
static int add_comparison_options(struct hc_gate_wishes *w, struct hc_gate *gate,
                                  struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "baseline",
         .value = "FILE",
         .text = &w->baseline,
         .help = "the record to compare with"},
        {.name = "growth",
         .value = "X",
         .real = &gate->growth,
         .least = 1,
         .most = 1e6,
         .help = "let the error of a passing result be up to X times the baseline's\n"
                 "(default 2, which is one bit of the headroom)"},
        {.name = "margin",
         .value = "POINTS",
         .real = &gate->margin,
         .least = 1e-6,
         .most = 100,
         .help = "of trainings: the loss of accuracy that does not matter (default 0.5)"},
        {.name = "protocol",
         .value = "FILE",
         .text = &gate->protocol,
         .help = "of trainings: judge them by the file that compare --protocol made them\n"
                 "by: its margin, its level, its settings, and what its arms claim"},
        {.name = "target",
         .value = "PERCENT",
         .real = &gate->target,
         .least = 1e-6,
         .most = 100,
         .help = "of trainings: the accuracy to which epochs are counted (default: the\n"
                 "median of the baseline's, less the margin)"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* The options that say what is accepted. */
static int add_allowance_options(struct hc_gate_wishes *w, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "allow",
         .value = "KIND",
         .words = &w->allow,
         .help = "accept findings of this kind, one of those that could not be compared;\n"
                 "may be given more than once"},
        {.name = "allowances",
         .value = "FILE",
         .text = &w->allowances,
         .help = "what is accepted for a while; see below (default: the baseline's name\n"
                 "and .allow, if there is such a file)"},
        {.name = "today",
         .value = "DATE",
         .text = &w->today,
         .help = "the date for which allowances are judged, YYYY-MM-DD (default: the\n"
                 "date in UTC); a later one shows what will expire"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* The options that say what is printed and written. */
static int add_output_options(struct hc_gate_wishes *w, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "update",
         .flag = &w->update,
         .help = "show what is another, then make RECORD the new baseline FILE, which need\n"
                 "not exist yet"},
        {.name = "json",
         .value = "FILE",
         .text = &w->json,
         .help = "write the findings as JSON; - is standard output"},
        {.name = "junit",
         .value = "FILE",
         .text = &w->junit,
         .help = "write them as JUnit's XML, a test case a family; - is standard output"},
        {.name = "github",
         .flag = &w->github,
         .help = "print annotations for GitHub, and append a summary in Markdown to the\n"
                 "file that $GITHUB_STEP_SUMMARY names"},
        {.name = "github-summary",
         .value = "FILE",
         .text = &w->summary,
         .help = "the file for that summary, with --github"},
        {.name = "all", .flag = &w->every, .help = "list every finding, even if many are alike"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static int run(int argc, char **argv)
{
    struct hc_gate_wishes w = {0};
    struct hc_gate gate = {.growth = HC_GATE_GROWTH};
    struct hc_option options[HC_MAX_OPTIONS + 1] = {0};
    int n = add_comparison_options(&w, &gate, options);
    n += add_allowance_options(&w, options + n);
    (void)add_output_options(&w, options + n);
    int words;
    int status;
    if (!hc_read_options(&hc_command_gate, options, argc, argv, &words, &status))
        return status;
    if (!w.baseline || words < 1)
        return hc_complain("gate needs --baseline FILE and one record; see: halfcheck gate --help");
    if (gate.protocol && gate.margin > 0)
        return hc_complain("the protocol decides that; leave out --margin");
    w.record = argv[1];
    gate.patterns = (const char *const *)argv + 2;
    gate.pattern_count = words - 1;
    return hc_gate_do(&w, &gate);
}

const struct hc_command hc_command_gate = {
    .name = "gate",
    .usage = "--baseline FILE RECORD [PATTERN...] [options]",
    .summary = "report what got worse since a baseline",
    .text = "Both files are records (of halfcheck run, merge, train, compare) or baselines. Each\n"
            "result is compared with the baseline's result of the same case and backend;\n"
            "PATTERNs, as of run, limit both sides. Findings are told by kind and by family of\n"
            "cases, what is worst first. What is worse:\n\n"
            "  verdict  PASS became another verdict, FAIL became neither PASS nor FAIL, or a\n"
            "           result, new or old, turned to FAIL or ERROR. What failed before may\n"
            "           go on failing.\n"
            "  error    The error of a passing result grew by more than --growth (counted\n"
            "           from 0.05 of the bound on), or that of a failing one grew at all.\n"
            "           Both are measured by the baseline's bound.\n"
            "  bound    The bound was raised. It is the bound of the worst comparison, so a\n"
            "           kernel whose worst error has moved elsewhere may show here, too.\n"
            "  checked  Fewer comparisons were made.\n"
            "  bits     A kernel that owes the same bits gave others, on the same machine,\n"
            "           with the same versions.\n"
            "  missing  The record lacks the result.\n"
            "  training A recipe's accuracy fell, or a run did not learn.\n"
            "  epochs   A recipe is shown to take longer to the target.\n"
            "  drift    Gradients or weights drift further than before and than seeds differ.\n\n"
            "What cannot be compared:\n\n"
            "  seed     The seed is another, so the inputs are; only verdicts are compared.\n"
            "  seeds    Too few seeds to show that a recipe trains as before within --margin.\n"
            "  settings Recipes were trained otherwise: data, network, epochs, batch, rate.\n"
            "  level    The level is another; only verdicts are compared.\n"
            "  unit     The unit is another; neither errors nor bounds are compared.\n"
            "  machine  The result is SKIPPED, its backend could not run on that machine, or\n"
            "           its bits are others on another CPU, GPU or system.\n"
            "  version  The bits are others, of another halfcheck, library or compiler.\n"
            "  digest   One side lacks a digest of bits that the other can only be judged by.\n"
            "  unknown  An older record does not say how it was made.\n\n"
            "Either makes the exit status 1, unless it is allowed: by a line in the file of\n"
            "allowances,\n\n"
            "  PATTERN  KIND  until YYYY-MM-DD  REASON\n\n"
            "where a glob over backends may follow the PATTERN behind an @; or, what cannot be\n"
            "compared, by --allow KIND. What is allowed is listed and counted all the same. What\n"
            "changed and is not worse, what is better and what is new leaves the status 0. If no\n"
            "result stands in both, or none was judged, the status is 1. Each part of a merged\n"
            "record is compared at its own level. A record that was cut short, lacks shards or\n"
            "has a planted fault is refused with status 2. The last line says PASS or FAIL, and\n"
            "why.",
    .run = run,
};
