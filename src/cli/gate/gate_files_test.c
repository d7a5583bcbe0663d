/* What programs read of the gate, also where a record was written to harm them. */
#include "cli/report/wellformed.h"
#include "cli/testing.h"

#include <math.h>

#include "check/record/invocation.h"
#include "check/record/record.h"

static void write_record(const char *path, int count, const struct hc_row *rows)
{
    json_t *record = hc_record_new();
    hc_record_set_invocation(record, &(struct hc_invocation){.level = "quick", .seed = 5});
    for (int i = 0; i < count; i++)
        hc_record_add(record, &rows[i]);
    cr_assert_eq(hc_record_write(record, path), HC_OK);
    json_decref(record);
}

static struct hc_row passing(const char *name)
{
    return (struct hc_row){.name = name,
                           .backend = "exact",
                           .verdict = HC_PASS,
                           .checked = 100,
                           .error = 0x1p-12,
                           .bound = 0x1p-10,
                           .unit = "abs",
                           .implementation = (double)NAN,
                           .format = (double)NAN,
                           .seed = 5,
                           .note = "",
                           .repro = "halfcheck run"};
}

static const char gate[] = "$hc gate --baseline old.json new.json";

/* A name, a note and a backend that mean something to terminals, XML, JSON, Markdown and CI. */
#define HOSTILE                                                                                    \
    "::error title=x::y\n::set-env name=A::1\n##[add-mask]b\n\033[2J]]>&<b onload='x'>\"'|`*_"     \
    "[l](javascript:1)@team#1%0A\\x\r\x80"

static void write_hostile(void)
{
    struct hc_row rows[] = {passing("a/b"), passing("::error::/c"), passing("d/##vso[x]")};
    write_record("old.json", 3, rows);
    rows[0].name = "a/b" HOSTILE;
    rows[0].backend = "<host>" HOSTILE;
    rows[0].note = HOSTILE;
    rows[0].repro = HOSTILE;
    rows[0].verdict = rows[1].verdict = HC_FAIL;
    rows[1].note = "::warning::" HOSTILE;
    rows[2].unit = HOSTILE;
    write_record("new.json", 3, rows);
    write_text("old.json.allow", "d/* unit until 9999-12-31 ::debug::x\033[1m]]><i>|`_\n");
}

/* Whether no line is a command to a CI, and no byte one to a terminal. */
static bool is_calm(const char *text)
{
    for (const char *c = text; *c; c++) {
        bool begins = c == text || c[-1] == '\n';
        if ((unsigned char)*c < ' ' && *c != '\n')
            return false;
        if ((begins && strncmp(c + strspn(c, " "), "::", 2) == 0) || strncmp(c, "##[", 3) == 0 ||
            strncmp(c, "##vso", 5) == 0)
            return false;
    }
    return true;
}

Test(gate_files, text_commands_neither_terminals_nor_ci, .init = enter_folder)
{
    write_hostile();
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1);
    cr_expect(is_calm(ran->out), "%s", ran->out);
    ran = run_shell("$hc gate --baseline old.json new.json --all");
    cr_expect(is_calm(ran->out), "%s", ran->out);
}

Test(gate_files, github_gets_a_command_a_family_and_no_other, .init = enter_folder)
{
    write_hostile();
    const struct ran *ran =
        run_shell("GITHUB_STEP_SUMMARY=sum.md $hc gate --baseline old.json new.json --github");
    int commands = 0;
    cr_expect_eq(ran->status, 1);
    for (const char *c = ran->out; c; c = strchr(c, '\n')) {
        c += *c == '\n';
        bool command = strncmp(c + strspn(c, " "), "::", 2) == 0;
        commands += command;
        cr_expect(!command || strncmp(c, "::error title=halfcheck gate%3A ", 32) == 0, "%s", c);
        const char *end = command ? strstr(c + 10, "::") : NULL; /* of the title */
        cr_expect(!end || end < strchr(c, '\n'), "%s", c);
        for (const char *m = end; m && *m != '\n'; m++) /* nothing else is undone in a message */
            cr_expect(*m != '%' || strncmp(m, "%25", 3) == 0, "%s", m);
        if (!strchr(c, '\n'))
            break;
    }
    cr_expect_eq(commands, 3, "%s", ran->out); /* two verdicts, one missing */
    static char summary[1 << 16];
    read_text("sum.md", summary, sizeof summary);
    cr_expect(strncmp(summary, "## halfcheck gate: FAIL\n\n", 25) == 0, "%s", summary);
    cr_expect_null(strpbrk(summary + 25, "*`_[\\\"'@"), "%s", summary);
    cr_expect_null(strstr(summary, "<i>"));
    cr_expect_null(strstr(summary, "<b"));
    cr_expect_eq(
        run_shell("$hc gate --baseline old.json new.json --github --github-summary sum.md")->status,
        1);
    static char twice[1 << 16];
    read_text("sum.md", twice, sizeof twice);
    cr_expect_eq(strlen(twice), 2 * strlen(summary)); /* steps add to one summary */
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

Test(gate_files, junit_is_well_formed_and_counts_as_it_says, .init = enter_folder)
{
    static char xml[1 << 16];
    char counts[120];
    write_hostile();
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json --junit g.xml")->status, 1);
    read_text("g.xml", xml, sizeof xml);
    cr_expect_null(hc_malformed(xml), "%.80s", hc_malformed(xml));
    (void)snprintf(counts, sizeof counts,
                   "tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\"",
                   count(xml, "<testcase "), count(xml, "<failure "), count(xml, "<skipped "));
    cr_expect_not_null(strstr(xml, counts), "%s: %s", counts, xml);
    cr_expect_eq(count(xml, "<failure "), 3);
    cr_expect_eq(count(xml, "<skipped "), 1);
    cr_expect_eq(run_shell("$hc gate --baseline old.json old.json --junit -")->status, 0);
    cr_expect_not_null(strstr(run_shell("$hc gate --baseline old.json old.json --junit -")->out,
                              "tests=\"1\" failures=\"0\""));
    write_record("empty.json", 0, NULL); /* what cannot be told by a family fails as a whole */
    cr_expect_not_null(strstr(run_shell("$hc gate --baseline empty.json old.json --junit -")->out,
                              "failures=\"1\""));
}

Test(gate_files, json_holds_every_finding, .init = enter_folder)
{
    json_error_t error;
    write_hostile();
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json --json -")->status, 1);
    json_t *o = json_load_file(".stdout", JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(o, "%s", error.text);
    const json_t *findings = json_object_get(o, "findings");
    cr_expect_str_eq(json_string_value(json_object_get(o, "verdict")), "FAIL");
    cr_expect_eq(json_array_size(findings), 4);
    const json_t *counts = json_object_get(o, "counts");
    cr_expect_eq(json_integer_value(json_object_get(counts, "worse")), 3);
    cr_expect_eq(json_integer_value(json_object_get(counts, "allowed")), 1);
    const json_t *allowed = json_object_get(json_array_get(findings, 3), "allowed");
    cr_expect_str_eq(json_string_value(json_object_get(allowed, "until")), "9999-12-31");
    json_decref(o);
}
