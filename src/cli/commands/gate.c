#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/parts.h"
#include "check/record/shards.h"
#include "cli/colour.h"
#include "cli/gate/conclusion.h"
#include "cli/command.h"
#include "cli/gate/findings_text.h"
#include "cli/gate/gate.h"
#include "op/output.h"
#include "op/text.h"

const struct hc_command hc_command_gate;

/* Refuses a record that was cut short or has a planted fault: it is evidence of nothing. Older
   records tell of a fault only in their repro lines. */
static int refuse_broken(const char *path, const struct hc_record *record)
{
    for (int p = 0; p < record->part_count; p++) {
        const struct hc_record_part *part = &record->parts[p];
        const char *slash = part->name[0] ? ", part " : "";
        if (part->cut)
            return hc_complain("gate: %s%s%s was cut short: %s", path, slash, part->name,
                               part->cut);
        if (part->fault)
            return hc_complain("gate: %s%s%s has the planted fault %s", path, slash, part->name,
                               part->fault);
    }
    const struct hc_row *shards = hc_record_find(record, HC_SHARDS_CASE, "-");
    if (shards && shards->verdict != HC_PASS)
        return hc_complain("gate: %s is not whole: %s", path, shards->note);
    for (int i = 0; i < record->count; i++)
        if (strstr(record->rows[i].repro, " --fault "))
            return hc_complain("gate: %s: the result %s has a planted fault", path,
                               record->rows[i].name);
    return HC_AS_CLAIMED;
}

/* Prints which machine or software is another, since that may be the reason. */
static void print_changes(const struct hc_gate *gate)
{
    if (gate->change_count)
        (void)puts("the machine or its software is another:");
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *c = &gate->changes[i];
        char line[1024];
        (void)snprintf(line, sizeof line, "%s%s%s %s, was %s", c->part, c->part[0] ? ": " : "",
                       c->key, c->is, c->was);
        (void)fputs("  ", stdout);
        hc_findings_print_text(stdout, 2, 4, line);
    }
}

static void print_allowance(void *out, const struct hc_allowance *one, const char *text)
{
    (void)one;
    hc_findings_print_text(out, 0, 4, text);
}

/* How to see what is worst again. */
static void print_repro(const struct hc_findings *f)
{
    for (int i = 0; i < f->count; i++) {
        const struct hc_finding *one = &f->all[i];
        if (one->allowed || hc_finding_kinds[one->kind].group != HC_FOUND_WORSE || !one->repro[0])
            continue;
        (void)fputs("repeat the first: ", stdout);
        hc_text_line(stdout, one->repro);
        (void)putchar('\n');
        return;
    }
}

static int conclude(const struct hc_gate *gate, const char *baseline)
{
    char text[1024];
    bool passes = hc_gate_passes(gate);
    hc_gate_allowances(gate, print_allowance, stdout);
    print_repro(&gate->findings);
    hc_gate_counts(gate, text, sizeof text);
    hc_findings_print_text(stdout, 0, 4, text);
    hc_gate_reason(gate, baseline, text, sizeof text);
    hc_colour_word(stdout, passes ? HC_COLOUR_PASS : HC_COLOUR_FAIL, 0, passes ? "PASS" : "FAIL");
    (void)fputs(": ", stdout);
    hc_text_line(stdout, text);
    (void)putchar('\n');
    return passes ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

static int compare(struct hc_gate *gate, const char *baseline, const char *record, bool every)
{
    if (refuse_broken(baseline, gate->baseline) || refuse_broken(record, gate->record))
        return HC_WRONG;
    if (hc_gate_compare(gate) != HC_OK)
        return hc_complain_message();
    print_changes(gate);
    hc_findings_print(stdout, &gate->findings, every);
    return conclude(gate, baseline);
}

/* What the options say. */
struct wishes {
    const char *baseline;
    const char *allowances;
    const char *today;
    struct hc_words allow;
    bool every;
};

/* Reads the file of allowances that the options name, or the one beside the baseline. */
static int read_allowances(const struct wishes *w, struct hc_allowances *allowances)
{
    static char beside[HC_MAX_PATH];
    const char *path = w->allowances;
    hc_day today = w->today ? hc_day_read(w->today) : hc_day_today();
    if (!today)
        return hc_complain("gate: --today takes a date YYYY-MM-DD, not '%s'", w->today);
    if (!path) {
        size_t stem = strlen(w->baseline);
        const char *dot = strrchr(w->baseline, '.');
        if (dot && !strchr(dot, '/') && dot != w->baseline)
            stem = (size_t)(dot - w->baseline);
        (void)snprintf(beside, sizeof beside, "%.*s.allow", (int)stem, w->baseline);
        path = access(beside, F_OK) == 0 ? beside : NULL;
    }
    if ((path && hc_allowances_read(allowances, path, today) != HC_OK) ||
        hc_allowances_take(allowances, &w->allow) != HC_OK)
        return hc_complain_message();
    return HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    struct wishes w = {0};
    struct hc_record baseline = {0};
    struct hc_record record = {0};
    struct hc_gate gate = {.growth = HC_GATE_GROWTH, .baseline = &baseline, .record = &record};
    const struct hc_option options[] = {
        {.name = "baseline",
         .value = "FILE",
         .text = &w.baseline,
         .help = "the record to compare with"},
        {.name = "growth",
         .value = "X",
         .real = &gate.growth,
         .least = 1,
         .most = 1e6,
         .help = "let the error of a passing result be up to X times the baseline's\n"
                 "(default 2, which is one bit of the headroom)"},
        {.name = "allow",
         .value = "KIND",
         .words = &w.allow,
         .help = "accept findings of this kind, one of those that could not be compared;\n"
                 "may be given more than once"},
        {.name = "allowances",
         .value = "FILE",
         .text = &w.allowances,
         .help = "what is accepted for a while; see below (default: the baseline's name\n"
                 "with .allow at its end, if there is such a file)"},
        {.name = "today",
         .value = "DATE",
         .text = &w.today,
         .help = "the date for which allowances are judged, YYYY-MM-DD (default: the\n"
                 "date in UTC); a later one shows what will expire"},
        {.name = "all", .flag = &w.every, .help = "list every finding, even if many are alike"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_gate, options, argc, argv, &words, &status))
        return status;
    if (!w.baseline || words < 1)
        return hc_complain("gate needs --baseline FILE and one record; see: halfcheck gate --help");
    gate.patterns = (const char *const *)argv + 2;
    gate.pattern_count = words - 1;
    status = read_allowances(&w, &gate.allowances);
    if (status == HC_AS_CLAIMED && (hc_record_read(w.baseline, &baseline) != HC_OK ||
                                    hc_record_read(argv[1], &record) != HC_OK))
        status = hc_complain_message();
    if (status == HC_AS_CLAIMED)
        status = compare(&gate, w.baseline, argv[1], w.every);
    hc_gate_free(&gate);
    hc_record_free(&baseline);
    hc_record_free(&record);
    return status;
}

const struct hc_command hc_command_gate = {
    .name = "gate",
    .usage = "--baseline FILE RECORD [PATTERN...] [options]",
    .summary = "report what got worse since a baseline",
    .text = "Both files are records of halfcheck run, merge, train or compare. Each result is\n"
            "compared with the baseline's result of the same case and backend; PATTERNs limit\n"
            "both sides. Findings are told by kind and by family of cases. What is worse:\n\n"
            "  verdict  PASS became another verdict, FAIL became neither PASS nor FAIL, or a\n"
            "           result, new or old, turned to FAIL or ERROR. What failed before may\n"
            "           go on failing.\n"
            "  error    The error of a passing result grew by more than --growth (counted\n"
            "           from 0.05 of the bound on), or that of a failing one grew at all.\n"
            "           Both are measured by the baseline's bound.\n"
            "  bound    The bound was raised. It is the bound of the worst comparison, so a\n"
            "           kernel whose worst error has moved elsewhere may show here, too.\n"
            "  checked  Fewer comparisons were made.\n"
            "  missing  The record lacks the result.\n\n"
            "What cannot be compared:\n\n"
            "  seed     The seed is another, so the inputs are; only verdicts are compared.\n"
            "  level    The level is another; only verdicts are compared.\n"
            "  unit     The unit is another; neither errors nor bounds are compared.\n"
            "  machine  The result is SKIPPED, or its backend could not run on that machine.\n"
            "  unknown  An older record does not say how it was made.\n\n"
            "Either makes the exit status 1, unless it is allowed: by a line in the file of\n"
            "allowances,\n\n"
            "  PATTERN  KIND  until YYYY-MM-DD  REASON\n\n"
            "where PATTERN is a glob over case or case@backend; or, what cannot be compared, by\n"
            "--allow KIND. What is allowed is listed and counted all the same. What changed and\n"
            "is not worse, what is better and what is new leaves the status 0. Each part of a\n"
            "merged record is compared at its own level. A record that was cut short or has a\n"
            "planted fault is refused with status 2. Differences between the machines and their\n"
            "software are printed first. The last line says PASS or FAIL, and why.",
    .run = run,
};
