#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/parts.h"
#include "cli/gate/gate_rows.h"
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
    for (int i = 0; i < record->count; i++)
        if (strstr(record->rows[i].repro, " --fault "))
            return hc_complain("gate: %s: the result %s has a planted fault", path,
                               record->rows[i].name);
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

/* Prints which machine or software is another, since that may be the reason. Parts are matched by
   their names. */
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
    char worse_kinds[200];
    char not_compared_kinds[200];
    char allowed[200];
    int worse = hc_findings_count(&c->findings, true);
    int not_compared = hc_findings_count(&c->findings, false);
    hc_findings_say(&c->findings, true, worse_kinds, sizeof worse_kinds);
    hc_findings_say(&c->findings, false, not_compared_kinds, sizeof not_compared_kinds);
    hc_findings_say_allowed(&c->findings, allowed, sizeof allowed);
    printf("%d results against %d: %d worse, %d not compared, %d better, %d as bad as before\n",
           c->record.count, c->baseline.count, worse, not_compared, c->better, c->still_bad);
    if (worse || not_compared)
        printf("FAIL: ");
    else
        printf("PASS: nothing is worse than in %s", path);
    if (worse)
        printf("%d worse (%s)%s", worse, worse_kinds, not_compared ? ", " : "");
    if (not_compared)
        printf("%d not compared (%s)", not_compared, not_compared_kinds);
    printf("%s%s\n", allowed[0] ? "; allowed: " : "", allowed);
    return worse || not_compared ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

static int compare(struct hc_gate *c, const char *baseline, const char *record, bool every)
{
    if (refuse_broken(baseline, &c->baseline) || refuse_broken(record, &c->record))
        return HC_WRONG;
    compare_environments(c);
    hc_gate_compare(c);
    if (c->findings.no_memory)
        return hc_complain("gate: no memory for the findings");
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
        {.name = "baseline",
         .value = "FILE",
         .text = &baseline,
         .help = "the record to compare with"},
        {.name = "growth",
         .value = "X",
         .real = &c.growth,
         .least = 1,
         .most = 1e6,
         .help = "let the error of a passing result be up to X times the baseline's\n"
                 "(default 2, which is one bit of the headroom)"},
        {.name = "allow",
         .value = "KIND",
         .words = &allow,
         .help = "accept findings of this kind, one of those above; may be given\n"
                 "more than once"},
        {.name = "all", .flag = &every, .help = "list every finding, even if many are alike"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_gate, options, argc, argv, &words, &status))
        return status;
    if (!baseline || words != 1)
        return hc_complain("gate needs --baseline FILE and one record; see: halfcheck gate --help");
    if (hc_findings_allow(&c.findings, &allow) != HC_OK ||
        hc_record_read(baseline, &c.baseline) != HC_OK)
        return hc_complain_message();
    if (hc_record_read(argv[1], &c.record) != HC_OK)
        status = hc_complain_message();
    else if (c.baseline.count == 0)
        status = hc_complain("gate: the baseline %s has no results", baseline);
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
    .summary = "report what got worse since a baseline",
    .text = "Both files are records of halfcheck run, merge, train or compare. Each result is\n"
            "compared with the baseline's result of the same case and backend. What counts as\n"
            "worse:\n\n"
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
            "What counts as not compared:\n\n"
            "  seed     The seed is another, so the inputs are; only verdicts are compared.\n"
            "  level    The level is another; only verdicts are compared.\n"
            "  unit     The unit is another; neither errors nor bounds are compared.\n"
            "  machine  The result is SKIPPED, or its backend could not run on that machine.\n"
            "  unknown  An older record does not say how it was made.\n\n"
            "A finding of either group makes the exit status 1, unless --allow names its kind;\n"
            "verdict and error cannot be allowed. Each part of a merged record is compared at its\n"
            "own level. A record that was cut short or has a planted fault is refused with status\n"
            "2. Differences between the machines and their software are printed first. The last\n"
            "line says PASS or FAIL, and why.",
    .run = run,
};
