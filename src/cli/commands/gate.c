#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/record_run.h"
#include "cli/gate/gate_rows.h"
#include "op/text.h"

const struct hc_command hc_command_gate;

/* A record that was cut short, or made with a planted defect, is nobody's evidence. Older records tell
   of a defect in their repro lines alone. */
static int refuse_broken(const char *path, const struct hc_record *record)
{
    for (int p = 0; p < record->part_count; p++) {
        const struct hc_record_part *part = &record->parts[p];
        const char *slash = part->name[0] ? ", part " : "";
        if (part->cut)
            return hc_complain("gate: %s%s%s: cut short: %s", path, slash, part->name, part->cut);
        if (part->fault)
            return hc_complain("gate: %s%s%s: has the planted fault %s", path, slash, part->name,
                               part->fault);
    }
    for (int i = 0; i < record->count; i++)
        if (strstr(record->rows[i].repro, " --fault "))
            return hc_complain("gate: %s: %s has a planted fault", path, record->rows[i].name);
    return HC_AS_CLAIMED;
}

static void print_change(const char *part, const char *key, const json_t *was, const json_t *is)
{
    char *old = was ? json_dumps(was, JSON_ENCODE_ANY) : NULL;
    char *new = is ? json_dumps(is, JSON_ENCODE_ANY) : NULL;
    char line[512];
    (void)snprintf(line, sizeof line, "%s%s%-10s %s, was %s", part, part[0] ? ": " : "", key,
                   new ? new : "null", old ? old : "null");
    hc_text_line(stdout, line);
    (void)putchar('\n');
    free(old);
    free(new);
}

/* Which machine or software is another one: it may be the reason. Parts are compared by their names. */
static void compare_environments(const struct hc_gate *c)
{
    const char *key;
    json_t *is;
    for (int p = 0; p < c->record.part_count; p++) {
        const struct hc_record_part *part = &c->record.parts[p];
        int other = c->baseline.part_count - 1;
        while (other > 0 && strcmp(c->baseline.parts[other].name, part->name) != 0)
            other--;
        const json_t *before = c->baseline.parts[other].environment;
        json_object_foreach((json_t *)part->environment, key, is)
        {
            const json_t *was = json_object_get(before, key);
            if (strcmp(key, "date") != 0 && !json_equal(was, is))
                print_change(part->name, key, was, is);
        }
    }
}

static int conclude(const struct hc_gate *c, const char *path)
{
    char worse[200];
    char apart[200];
    char allowed[200];
    int harm = hc_findings_count(&c->findings, true);
    int blind = hc_findings_count(&c->findings, false);
    hc_findings_say(&c->findings, true, worse, sizeof worse);
    hc_findings_say(&c->findings, false, apart, sizeof apart);
    hc_findings_say_allowed(&c->findings, allowed, sizeof allowed);
    printf("%d results against %d: %d worse, %d not compared, %d better, %d as bad as before\n",
           c->record.count, c->baseline.count, harm, blind, c->better, c->still_bad);
    if (harm || blind)
        printf("FAIL: ");
    else
        printf("PASS: nothing is worse than in %s", path);
    if (harm)
        printf("%d worse (%s)%s", harm, worse, blind ? ", " : "");
    if (blind)
        printf("%d not compared (%s)", blind, apart);
    printf("%s%s\n", allowed[0] ? "; allowed: " : "", allowed);
    return harm || blind ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

static int compare(struct hc_gate *c, const char *baseline, const char *record, bool every)
{
    if (refuse_broken(baseline, &c->baseline) || refuse_broken(record, &c->record))
        return HC_WRONG;
    compare_environments(c);
    hc_gate_compare(c);
    if (c->findings.no_memory)
        return hc_complain("gate: no memory for what was found");
    hc_findings_print(&c->findings, every);
    return conclude(c, baseline);
}

static int run(int argc, char **argv)
{
    const char *baseline = NULL;
    bool every = false;
    struct hc_words allow = {0};
    struct hc_gate c = {.growth = 2};
    const struct hc_option options[] = {
        {.name = "baseline", .value = "FILE", .text = &baseline, .help = "the record to hold to"},
        {.name = "growth",
         .value = "X",
         .real = &c.growth,
         .least = 1,
         .most = 1e6,
         .help = "how many times the baseline's error a passing result\n"
                 "may have (default 2: one bit of the headroom)"},
        {.name = "allow",
         .value = "KIND",
         .words = &allow,
         .help = "let findings of this kind pass, one of those above; may\n"
                 "be given more than once"},
        {.name = "all", .flag = &every, .help = "list every finding, also where many are alike"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_gate, options, argc, argv, &words, &status))
        return status;
    if (!baseline || words != 1)
        return hc_complain("gate: --baseline FILE and one record; see: halfcheck gate --help");
    if (hc_findings_allow(&c.findings, &allow) != HC_OK ||
        hc_record_read(baseline, &c.baseline) != HC_OK)
        return hc_complain_message();
    if (hc_record_read(argv[1], &c.record) != HC_OK)
        status = hc_complain_message();
    else if (c.baseline.count == 0)
        status = hc_complain("%s: a baseline without results", baseline);
    else
        status = compare(&c, baseline, argv[1], every);
    hc_findings_free(&c.findings);
    hc_record_free(&c.baseline);
    hc_record_free(&c.record);
    return status;
}

const struct hc_command hc_command_gate = {
    .name = "gate",
    .usage = "--baseline FILE RECORD [options]",
    .summary = "say what got worse since a baseline",
    .text = "Both are records of halfcheck run, merge, train or compare. Every result\n"
            "is compared with that of the same case and backend. What is worse:\n"
            "\n"
            "  verdict  what passed or failed passes no more, or became FAIL or ERROR; or\n"
            "           a new result is that. What failed before may go on failing.\n"
            "  error    a passing result's grew beyond --growth (from 0.05 of the bound\n"
            "           on); a failing one's grew at all. Both by the baseline's bound.\n"
            "  bound    was raised. It is that of the worst comparison, so that a kernel\n"
            "           that errs elsewhere may show here, too.\n"
            "  checked  fewer comparisons\n"
            "  missing  the record has no such result\n"
            "\n"
            "What could not be compared:\n"
            "\n"
            "  seed     another one: other inputs, of which only verdicts are compared\n"
            "  level    the same\n"
            "  unit     another one: neither error nor bound is compared\n"
            "  machine  SKIPPED, or on a backend that could not run there\n"
            "  unknown  an older record does not tell how it was made\n"
            "\n"
            "Either makes the status 1. All but verdict and error can be allowed. Parts of\n"
            "merged records are compared each with its own level. A record that was cut\n"
            "short or has a planted fault is refused with status 2. Differences of machines\n"
            "and software come first; the last line says PASS or FAIL, and why.",
    .run = run,
};
