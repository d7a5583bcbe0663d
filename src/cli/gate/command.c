/* halfcheck gate: what its options ask for, from reading the files to the last line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/baseline.h"
#include "check/record/parts.h"
#include "cli/command.h"
#include "cli/gate/conclusion.h"
#include "cli/gate/gate.h"
#include "op/output.h"

/* What its options say. */
struct gate_wishes {
    const char *baseline;
    const char *record;
    const char *allowances;
    const char *today;
    const char *json;
    const char *junit;
    const char *summary;
    bool github;
    bool every;
    bool update;
    struct hc_words allow;
};

enum { LISTED = 10, TEXT = 1024 };

/* HC_INVALID, with a line, for what cannot be a baseline: a lone shard, or bits that no reference
   has judged. */
static enum hc_status gate_check_update(const char *path, const struct hc_record *record)
{
    const struct hc_record_part *first = &record->parts[0];
    if (record->count == 0)
        return hc_fail(HC_INVALID, "gate: %s has no results: it cannot be a baseline", path);
    if (record->part_count == 1 && first->plan)
        return hc_fail(HC_INVALID,
                       "gate: %s is shard %d of %d: merge all of them, then write a baseline", path,
                       first->shard, first->shards);
    for (int i = 0; i < record->count; i++)
        if (hc_row_is_bits(&record->rows[i]))
            return hc_fail(HC_INVALID,
                           "gate: %s holds bits that no reference has judged: it cannot be a "
                           "baseline",
                           path);
    return HC_OK;
}

static bool fails(const struct hc_row *row)
{
    return row && (hc_row_verdict(row) == HC_FAIL || hc_row_verdict(row) == HC_ERROR);
}

static bool is_known(const struct hc_allowances *allowances, const struct hc_record *old,
                     const struct hc_row *row)
{
    if (old && fails(hc_record_find(old, row->name, row->backend)))
        return true;
    for (int i = 0; i < allowances->count; i++) {
        const struct hc_allowance *one = &allowances->all[i];
        if (one->kind == HC_FINDING_VERDICT && !one->expired &&
            hc_allowance_matches(one, row->name, row->backend))
            return true;
    }
    return false;
}

/* Prints the first of the results that fail, known ones or others. */
static int list_failing(FILE *out, const struct hc_allowances *allowances,
                        const struct hc_record *old, const struct hc_record *record, bool known)
{
    int count = 0;
    for (int i = 0; i < record->count; i++) {
        const struct hc_row *row = &record->rows[i];
        char text[TEXT];
        if (!fails(row) || is_known(allowances, old, row) != known)
            continue;
        if (count++ >= LISTED)
            continue;
        (void)snprintf(text, sizeof text, "%s: %s on %s is %s%s%s",
                       known ? "written as it is" : "not written", row->name, row->backend,
                       hc_verdict_names[hc_row_verdict(row)], row->note[0] ? ": " : "", row->note);
        hc_findings_print_text(out, 0, 4, text);
    }
    if (count > LISTED)
        (void)fprintf(out, "and %d more\n", count - LISTED);
    return count;
}

/* "515 results, 2 FAIL, 10 SKIPPED". */
static void count_verdicts(const struct hc_record *record, char *text, size_t bytes)
{
    int counts[HC_VERDICT_COUNT] = {0};
    for (int i = 0; i < record->count; i++)
        counts[hc_row_verdict(&record->rows[i])]++;
    int used = snprintf(text, bytes, "%d result%s", record->count, record->count == 1 ? "" : "s");
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (counts[v] && v != HC_PASS && (size_t)used < bytes)
            used += snprintf(text + used, bytes - (size_t)used, ", %d %s", counts[v],
                             hc_verdict_names[v]);
}

/* Replaces the baseline by the record, and says what of it fails. It is left as it is, and
   *written is false, if a result fails that neither the old baseline nor an allowance knows: a
   failure must not become what later runs are held against without a word. `old` may be NULL.
   `reason` then says why, or what was written. HC_IO; HC_INVALID; HC_NO_MEMORY. */
static enum hc_status gate_update(FILE *out, const struct hc_allowances *allowances,
                                  const struct hc_record *old, const struct hc_record *record,
                                  const char *path, bool *written, char *reason, size_t bytes)
{
    char counts[200];
    int unknown = list_failing(out, allowances, old, record, false);
    *written = false;
    if (unknown) {
        (void)snprintf(reason, bytes,
                       "%s was not written: %d result%s and no allowance explains %s", path,
                       unknown, unknown == 1 ? " fails," : "s fail,", unknown == 1 ? "it" : "them");
        return HC_OK;
    }
    enum hc_status status = hc_baseline_write(record, path);
    if (status != HC_OK)
        return status;
    (void)list_failing(out, allowances, old, record, true);
    count_verdicts(record, counts, sizeof counts);
    (void)snprintf(reason, bytes, "%s is the new baseline: %s", path, counts);
    *written = true;
    return HC_OK;
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Where people read. */
static FILE *output_of(const struct gate_wishes *w)
{
    return is_stdout(w->json) || is_stdout(w->junit) ? stderr : stdout;
}

static const char *summary_of(const struct gate_wishes *w)
{
    const char *summary = w->summary ? w->summary : getenv("GITHUB_STEP_SUMMARY");
    return w->github && summary && summary[0] ? summary : NULL;
}

/* Refuses to write over what is read, or two documents to one file. */
static int check_names(const struct gate_wishes *w)
{
    char beside[HC_MAX_PATH];
    (void)snprintf(beside, sizeof beside, "%s.allow", w->baseline);
    const char *reads[][2] = {{"the baseline", w->baseline},
                              {"the record", w->record},
                              {"the file of allowances", w->allowances ? w->allowances : beside}};
    const char *writes[][2] = {
        {"--json", w->json}, {"--junit", w->junit}, {"--github-summary", summary_of(w)}};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3 && writes[i][1]; k++)
            if (hc_output_same(writes[i][1], reads[k][1]))
                return hc_complain("gate: %s would take the place of %s: %s", writes[i][0],
                                   reads[k][0], writes[i][1]);
        for (int k = 0; k < i && writes[i][1]; k++)
            if (writes[k][1] && hc_output_same(writes[k][1], writes[i][1]))
                return hc_complain("gate: %s and %s name the same file: %s", writes[k][0],
                                   writes[i][0], writes[i][1]);
    }
    if (w->update && hc_output_same(w->baseline, w->record))
        return hc_complain("gate: the record and the new baseline are the same file: %s",
                           w->record);
    return HC_AS_CLAIMED;
}

/* Refuses files that could not be written, before anything is printed. */
static int check_files(const struct gate_wishes *w)
{
    if (is_stdout(w->json) && is_stdout(w->junit))
        return hc_complain("gate: only one of --json - and --junit - can write to stdout");
    if (w->update && (is_stdout(w->json) || is_stdout(w->junit)))
        return hc_complain("gate: --update prints; --json and --junit need a file then");
    if (w->github && (is_stdout(w->json) || is_stdout(w->junit)))
        return hc_complain("gate: --github writes to stdout; --json and --junit need a file then");
    int status = check_names(w);
    if (status != HC_AS_CLAIMED)
        return status;
    if ((w->json && hc_output_probe(w->json) != HC_OK) ||
        (w->junit && hc_output_probe(w->junit) != HC_OK))
        return hc_complain_message();
    return HC_AS_CLAIMED;
}

/* Writes what programs read. */
static enum hc_status write_files(const struct gate_wishes *w, const struct hc_gate *gate)
{
    const struct hc_gate_paths paths = {w->baseline, w->record};
    const char *summary = summary_of(w);
    enum hc_status status = HC_OK;
    if (w->json)
        status = hc_gate_json(gate, &paths, w->json);
    if (status == HC_OK && w->junit)
        status = hc_gate_junit(gate, &paths, w->junit);
    if (status == HC_OK && summary)
        status = hc_gate_summarize(gate, &paths, summary);
    return status;
}

/* Makes the record the baseline, `old` being the one until now, or NULL. */
static int update(const struct gate_wishes *w, const struct hc_allowances *allowances,
                  const struct hc_record *old, const struct hc_record *record)
{
    char reason[HC_MAX_PATH + 200];
    bool written;
    if (gate_update(output_of(w), allowances, old, record, w->baseline, &written, reason,
                    sizeof reason) != HC_OK)
        return hc_complain_message();
    hc_gate_print_verdict(output_of(w), written, reason);
    return written ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

static int compare_records(const struct gate_wishes *w, struct hc_gate *gate)
{
    char reason[HC_MAX_PATH + 1024];
    FILE *out = output_of(w);
    if (gate->protocol && !hc_gate_training.applies(gate))
        return hc_complain("gate: --protocol judges trainings, and %s has none", w->baseline);
    if (hc_gate_check_whole(w->baseline, gate->baseline) != HC_OK ||
        hc_gate_check_whole(w->record, gate->record) != HC_OK ||
        (w->update && gate_check_update(w->record, gate->record) != HC_OK) ||
        hc_gate_compare(gate) != HC_OK || hc_gate_check_patterns(gate) != HC_OK)
        return hc_complain_message();
    if (write_files(w, gate) != HC_OK)
        return hc_complain_message();
    hc_gate_print(out, gate, w->every);
    if (w->github)
        hc_gate_annotate(out, gate, &(struct hc_gate_paths){w->baseline, w->record});
    if (w->update)
        return update(w, &gate->allowances, gate->baseline, gate->record);
    hc_gate_reason(gate, w->baseline, reason, sizeof reason);
    hc_gate_print_verdict(out, hc_gate_passes(gate), reason);
    return hc_gate_passes(gate) ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

static enum hc_status read_allowances(const struct gate_wishes *w, struct hc_allowances *allowances)
{
    hc_date today = w->today ? hc_date_read(w->today) : hc_date_today();
    if (!today)
        return hc_fail(HC_INVALID, "gate: --today takes a date YYYY-MM-DD, not '%s'", w->today);
    enum hc_status status = hc_allowances_read_for(allowances, w->baseline, w->allowances, today);
    return status == HC_OK ? hc_allowances_take(allowances, &w->allow) : status;
}

/* There is no baseline yet. */
static int begin(const struct gate_wishes *w, struct hc_gate *gate)
{
    struct hc_findings none = {0};
    if (w->json || w->junit || w->github)
        return hc_complain("gate: there is no %s to compare with yet: --update alone makes it",
                           w->baseline);
    if (hc_gate_check_whole(w->record, gate->record) != HC_OK ||
        gate_check_update(w->record, gate->record) != HC_OK ||
        hc_allowances_check(&gate->allowances, gate->record, gate->record, &none) != HC_OK)
        return hc_complain_message();
    return update(w, &gate->allowances, NULL, gate->record);
}

/* Reads both records and the allowances, compares, prints, writes. `gate` holds the patterns and
   what else the options say of the comparison; it is freed. Returns one of enum hc_exit. */
static int gate_do(const struct gate_wishes *w, struct hc_gate *gate)
{
    struct hc_record baseline = {0};
    struct hc_record record = {0};
    bool first = w->update && access(w->baseline, F_OK) != 0;
    if (w->update && gate->pattern_count)
        return hc_complain("gate: --update takes the whole record, without patterns");
    gate->baseline = &baseline;
    gate->record = &record;
    int status = check_files(w);
    if (status == HC_AS_CLAIMED && (read_allowances(w, &gate->allowances) != HC_OK ||
                                    (!first && hc_record_read(w->baseline, &baseline) != HC_OK) ||
                                    hc_record_read(w->record, &record) != HC_OK))
        status = hc_complain_message();
    if (status == HC_AS_CLAIMED)
        status = first ? begin(w, gate) : compare_records(w, gate);
    hc_gate_free(gate);
    hc_record_free(&baseline);
    hc_record_free(&record);
    return status;
}

const struct hc_command hc_command_gate;

/* The options that say what is compared, and how. */
static int add_comparison_options(struct gate_wishes *w, struct hc_gate *gate,
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
static int add_allowance_options(struct gate_wishes *w, struct hc_option *options)
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
         .help = "what is accepted for a while; see above (default: the baseline's name\n"
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
static int add_output_options(struct gate_wishes *w, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "update",
         .flag = &w->update,
         .help = "show the differences, then make RECORD the new baseline FILE, which need not\n"
                 "exist yet"},
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

static int run_gate(int argc, char **argv)
{
    struct gate_wishes w = {0};
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
    return gate_do(&w, &gate);
}

const struct hc_command hc_command_gate = {
    .name = "gate",
    .usage = "--baseline FILE RECORD [PATTERN...] [options]",
    .summary = "report what got worse since a baseline",
    .text = "Both files are records (of halfcheck run, merge, train, compare) or baselines.\n"
            "Each result is compared with the baseline's result of the same case and backend;\n"
            "PATTERNs, as of run, limit both sides. gate groups its findings by kind and by\n"
            "family of cases, the worst first. These are worse:\n\n"
            "  verdict  PASS became another verdict, FAIL became any but PASS, or a\n"
            "           new or old result became FAIL or ERROR. What failed before may go on\n"
            "           failing.\n"
            "  error    The error of a passing result grew by more than --growth (counted\n"
            "           from 0.05 of the bound on), or that of a failing one grew at all.\n"
            "           Both are measured by the baseline's bound.\n"
            "  bound    The bound was raised. It is the bound of the worst comparison, so a\n"
            "           kernel whose worst error has moved elsewhere may show here, too.\n"
            "  checked  Fewer comparisons were made.\n"
            "  bits     A kernel that must repeat its bits gave others, on the same machine\n"
            "           and with the same versions.\n"
            "  missing  The record lacks the result.\n"
            "  training A recipe's accuracy fell, or a run did not learn.\n"
            "  epochs   A recipe is shown to take longer to the target.\n"
            "  drift    Gradients or weights drift further, by more than seeds differ.\n\n"
            "These cannot be compared:\n\n"
            "  seed     The seeds differ, and so the inputs; only verdicts are compared.\n"
            "  seeds    Too few seeds to show that a recipe trains as before within --margin.\n"
            "  settings Trainings differ in data, network, epochs, batch or rate.\n"
            "  level    The levels differ; only verdicts are compared.\n"
            "  unit     The units differ; neither errors nor bounds are compared.\n"
            "  machine  The result is SKIPPED, its backend could not run on that machine, or\n"
            "           its bits differ on another CPU, GPU or system.\n"
            "  version  The bits differ, and so do halfcheck, a library or the compiler.\n"
            "  digest   The result has only its bits to judge by, and one side lacks them.\n"
            "  unknown  An older record does not say how it was made.\n\n"
            "A finding of either list makes the exit status 1, unless it is allowed: by a line in\n"
            "the file of allowances,\n\n"
            "  PATTERN  KIND  until YYYY-MM-DD  REASON\n\n"
            "where a glob over backends may follow the PATTERN behind an @; or, what cannot be\n"
            "compared, by --allow KIND. gate lists and counts allowed findings, too. Better and\n"
            "new results, and those that changed and are not worse, leave the status 0. If the\n"
            "two share no result, or none was judged, the status is 1. Each part of a merged\n"
            "record is compared at its own level. A record that was cut short, lacks shards or\n"
            "has a planted fault is refused with status 2. The last line says PASS or FAIL, and\n"
            "why.",
    .run = run_gate,
};
