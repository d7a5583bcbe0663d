#include "cli/testing.h"

#include <math.h>

#include "check/record/invocation.h"
#include "check/record/record.h"

/* How the records of these tests came about, where a test does not say otherwise. */
static const struct hc_invocation usual = {.level = "quick"};

static void write_run(const char *path, const struct hc_invocation *run, int count,
                      const struct hc_row *rows)
{
    json_t *record = hc_record_new();
    if (run)
        hc_record_set_invocation(record, run);
    for (int i = 0; i < count; i++)
        hc_record_add(record, &rows[i]);
    cr_assert_eq(hc_record_write(record, path), HC_OK);
    json_decref(record);
}

static void write_record(const char *path, int count, const struct hc_row *rows)
{
    write_run(path, &usual, count, rows);
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

/* The gate's verdict on `is` after `was`, and that it says so. */
static void expect(struct hc_row was, struct hc_row is, int status, const char *word)
{
    write_record("old.json", 1, &was);
    write_record("new.json", 1, &is);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, status, "%s: %s%s", word, ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, word), "%s: %s", word, ran->out);
    const char *last = strstr(ran->out, status ? "\nFAIL: " : "\nPASS: ");
    cr_expect(last && !strchr(strchr(last + 1, '\n') + 1, '\n'), "%s", ran->out);
}

/* The same with something allowed. */
static void expect_allowed(const char *kinds, struct hc_row was, struct hc_row is, int status)
{
    char line[200];
    (void)snprintf(line, sizeof line, "%s %s", gate, kinds);
    write_record("old.json", 1, &was);
    write_record("new.json", 1, &is);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %s%s", kinds, ran->out, ran->err);
}

Test(gate, an_equal_record_passes, .init = enter_folder)
{
    expect(passing("a/b"), passing("a/b"), 0, "0 worse");
}

Test(gate, every_lost_verdict_is_worse_and_a_won_one_is_not, .init = enter_folder)
{
    for (int v = HC_FAIL; v < HC_VERDICT_COUNT; v++) {
        struct hc_row other = passing("a/b");
        other.verdict = (enum hc_verdict)v;
        expect(passing("a/b"), other, 1, "was PASS");
        expect(other, passing("a/b"), 0, "1 better");
    }
}

Test(gate, a_known_failure_may_stay_and_a_new_one_may_not_come, .init = enter_folder)
{
    struct hc_row failing = passing("a/b");
    failing.verdict = HC_FAIL;
    expect(failing, failing, 0, "1 as bad as before");
    struct hc_row both[] = {passing("a/b"), failing};
    both[1].name = "a/c";
    write_record("old.json", 1, both);
    write_record("new.json", 2, both);
    cr_expect_eq(run_shell(gate)->status, 1);
    both[1].verdict = HC_PASS;
    write_record("new.json", 2, both);
    cr_expect_eq(run_shell(gate)->status, 0);
}

Test(gate, a_missing_result_is_worse, .init = enter_folder)
{
    expect(passing("a/b"), passing("a/c"), 1, "missing");
    struct hc_row other = passing("a/b");
    other.backend = "host";
    expect(passing("a/b"), other, 1, "missing");
}

Test(gate, eroded_headroom_is_worse, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.error = 2 * is.error;
    expect(passing("a/b"), is, 0, "0 worse");
    is.error = nextafter(is.error, 1);
    expect(passing("a/b"), is, 1, "error/bound");
    is = passing("a/b");
    is.bound = 2 * is.bound;
    expect(passing("a/b"), is, 1, "bound");
    is = passing("a/b");
    is.checked = 99;
    expect(passing("a/b"), is, 1, "99 comparisons");
    struct hc_row lucky = passing("a/b");
    lucky.error = 0;
    expect(lucky, passing("a/b"), 1, "error/bound");
}

Test(gate, a_raised_bound_is_worse_whatever_the_error_does, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.bound = 4 * is.bound;
    is.error = 1.0001 * is.error;
    expect(passing("a/b"), is, 1, "FAIL: 1 worse (1 bound)");
    is.error = 0;
    expect(passing("a/b"), is, 1, "(1 bound)");
    expect_allowed("--allow bound", passing("a/b"), is, 0);
    is.error = 3 * passing("a/b").error; /* less of its bound, more than it was */
    expect_allowed("--allow bound", passing("a/b"), is, 1);
    is = passing("a/b");
    is.bound = (double)NAN;
    expect(passing("a/b"), is, 1, "bound");
    is = passing("a/b");
    is.bound = is.error; /* tightened: the error is what it was */
    expect(passing("a/b"), is, 0, "0 worse");
}

Test(gate, a_failure_may_not_get_worse, .init = enter_folder)
{
    struct hc_row was = passing("a/b");
    was.verdict = HC_FAIL;
    was.unit = "ulp";
    was.error = 8;
    struct hc_row is = was;
    is.error = (double)INFINITY;
    expect(was, is, 1, "error inf ulp, was 8");
    is.error = (double)NAN;
    expect(was, is, 1, "error nan ulp, was 8");
    expect(is, is, 0, "1 as bad as before");
    is.error = nextafter(8, 9);
    expect(was, is, 1, "(1 error)");
    is.error = 7;
    expect(was, is, 0, "0 worse");
    was.bound = is.bound = 0;
    is.error = 9;
    expect(was, is, 1, "(1 error)");
    is = was;
    is.checked = 1;
    expect(was, is, 1, "(1 checked)");
    for (int v = HC_SKIPPED; v < HC_VERDICT_COUNT; v++) {
        is.verdict = (enum hc_verdict)v; /* nobody knows any more */
        expect(was, is, 1, "was FAIL");
    }
}

Test(gate, an_error_that_is_no_number_is_worse, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.error = (double)NAN;
    expect(passing("a/b"), is, 1, "(1 verdict)");
    expect(is, is, 0, "1 as bad as before");
}

Test(gate, a_pass_whose_error_is_beyond_its_bound_is_none, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.error = 2 * is.bound;
    expect(passing("a/b"), is, 1,
           "FAIL, was PASS (it says PASS, but its error is 0.00195312 and its bound 0.00");
    struct hc_row both[] = {passing("a/a"), is};
    write_record("old.json", 1, both);
    write_record("new.json", 2, both);
    cr_expect_eq(run_shell(gate)->status, 1);
}

Test(gate, results_of_other_inputs_are_said_not_to_be_compared, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.seed = 6;
    is.bound = 4 * is.bound;
    is.checked = 1;
    expect(passing("a/b"), is, 1, "not compared (seed): 1 result: seed 6, was 5");
    expect_allowed("--allow level", passing("a/b"), is, 1);
    expect_allowed("--allow seed --allow level", passing("a/b"), is, 0);
    is.verdict = HC_FAIL; /* that can be compared */
    expect_allowed("--allow seed", passing("a/b"), is, 1);
    is = passing("a/b");
    is.unit = "ulp";
    expect(passing("a/b"), is, 1, "not compared (unit): 1 result: in ulp, was in abs");
    expect_allowed("--allow=unit", passing("a/b"), is, 0);
    is.checked = 99;
    expect_allowed("--allow=unit", passing("a/b"), is, 1);
    expect_refusal("$hc gate --baseline old.json new.json --allow everything", "everything");
    expect_refusal("$hc gate --baseline old.json new.json --allow verdict", "not 'verdict'");
}

Test(gate, another_level_is_said, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/c")};
    write_record("old.json", 2, rows);
    rows[1].checked = 7;
    write_run("new.json", &(struct hc_invocation){.level = "standard"}, 2, rows);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(
        strstr(ran->out, "not compared (level): 2 results: level standard, was quick\n    a/* 2\n"),
        "%s", ran->out);
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json --allow level")->status, 0);
}

/* The level stands in the parts of what is merged: all must be compared as before. */
Test(gate, compares_merged_records_part_by_part, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("c/d")};
    write_record("a.json", 1, &rows[0]);
    write_run("c.json", &(struct hc_invocation){.level = "standard"}, 1, &rows[1]);
    cr_assert_eq(run_shell("$hc merge a.json c.json --json old.json")->status, 0);
    cr_expect_eq(run_shell("$hc gate --baseline old.json old.json")->status, 0);
    rows[0].checked--;
    rows[1].bound *= 1.5;
    write_record("a.json", 1, &rows[0]);
    write_run("c.json", &(struct hc_invocation){.level = "standard"}, 1, &rows[1]);
    cr_assert_eq(run_shell("$hc merge c.json a.json --json new.json")->status, 0);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(strstr(ran->out, "FAIL: 2 worse (1 bound, 1 checked)\n"), "%s", ran->out);
    cr_assert_eq(run_shell("$hc merge old.json --json again.json")->status, 0);
    cr_expect_eq(run_shell("$hc gate --baseline again.json old.json")->status, 0);
    write_run("c.json", &usual, 1, &rows[1]);
    cr_assert_eq(run_shell("$hc merge a.json c.json --json new.json")->status, 0);
    cr_expect_not_null(strstr(run_shell(gate)->out, "1 not compared (1 level)"));
}

Test(gate, many_alike_are_one_line_and_all_lists_them, .init = enter_folder)
{
    enum { MANY = 300 };
    static struct hc_row rows[MANY];
    static char names[MANY][16];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s/%03d", i % 2 ? "even" : "odd", i);
        rows[i] = passing(names[i]);
    }
    write_record("old.json", MANY, rows);
    for (int i = 0; i < MANY; i++)
        rows[i].bound *= 2;
    rows[0].seed = 8;
    write_record("new.json", MANY - 20, rows);
    const struct ran *ran = run_shell(gate);
    cr_expect_leq(lines_of(ran->out), 30, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, " more of even/* on exact; --all lists them"));
    cr_expect_not_null(strstr(ran->out, "worse (missing): 20 results: "));
    cr_expect_not_null(strstr(ran->out, "\n    even/* 10, odd/* 10\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "\n    odd/000 on exact\n"), "%s", ran->out);
    cr_expect_gt(lines_of(run_shell("$hc gate --baseline old.json new.json --all")->out), 580);
}

Test(gate, what_cannot_run_on_a_machine_is_said_with_the_reason, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/b")};
    rows[1].backend = "abacus";
    write_record("old.json", 2, rows);
    write_record("whole.json", 1, rows);
    cr_assert_eq(run_shell("sed 's/\"run\": {/\"left_out\": {\"abacus\": \"no beads\"},&/' "
                           "whole.json >new.json")
                     ->status,
                 0);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(strstr(ran->out, "not compared (machine): 1 result: abacus could not run"
                                        " on that machine: no beads"),
                       "%s", ran->out);
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json --allow machine")->status, 0);
    cr_assert_eq(
        run_shell("sed 's/\"run\": {/\"left_out\": {\"abacus\": {\"a\": {\"absent\": 1, "
                  "\"refused\": 0, \"why\": \"it lacks a bead\"}}},&/' whole.json >new.json")
            ->status,
        0);
    cr_expect_not_null(strstr(run_shell(gate)->out, "worse (missing): 1 result: missing from the "
                                                    "record, was PASS; it was left out there: it"),
                       "%s", run_shell(gate)->out);
    cr_expect_eq(run_shell("$hc gate --baseline old.json whole.json --allow machine")->status, 1);
    cr_expect_eq(run_shell("$hc gate --baseline old.json whole.json --allow missing")->status, 0);
}

Test(gate, refuses_what_was_cut_short_or_has_a_fault, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    write_record("good.json", 1, &row);
    write_run("cut.json", &(struct hc_invocation){.level = "quick", .cut = "stopped"}, 1, &row);
    write_run("bad.json", &(struct hc_invocation){.level = "quick", .fault = "add-one"}, 1, &row);
    expect_refusal("$hc gate --baseline good.json cut.json", "cut.json was cut short: stopped");
    expect_refusal("$hc gate --baseline cut.json good.json", "cut.json was cut short: stopped");
    expect_refusal("$hc gate --baseline good.json bad.json", "the planted fault add-one");
    row.name = "a/c";
    write_record("other.json", 1, &row);
    cr_assert_eq(run_shell("$hc merge other.json cut.json --json all.json")->status, 0);
    expect_refusal("$hc gate --baseline all.json all.json", "all.json, part cut was cut short");
    row.repro = "halfcheck run a/c --backend exact --fault add-one"; /* all that older ones tell */
    write_run("old.json", NULL, 1, &row);
    expect_refusal("$hc gate --baseline old.json old.json", "planted fault");
}

Test(gate, says_what_older_records_do_not_tell, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    write_record("new.json", 1, &row);
    write_run("bare.json", NULL, 1, &row);
    cr_assert_eq(
        run_shell("sed 's/\"results\"/\"level\": \"quick\", &/' bare.json >old.json")->status, 0);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(strstr(ran->out, "1 not compared (1 unknown)"), "%s", ran->out);
    row.bound *= 2;
    write_record("new.json", 1, &row);
    const char *allow = "$hc gate --baseline old.json new.json --allow unknown";
    cr_expect_eq(run_shell(allow)->status, 1); /* the bound is compared: the level is known */
    cr_expect_not_null(strstr(run_shell(allow)->out, "(1 bound)"));
    cr_expect_not_null(
        strstr(run_shell("$hc gate --baseline bare.json new.json")->out, "at which level it ran"));
    ran = run_shell("r='" HC_SOURCE "/reports/measured/xeon-sapphire-rapids-2-cores/airplane-dog/"
                    "record.json'; $hc gate --baseline $r $r --allow unknown");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

Test(gate, another_machine_is_named, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    write_record("old.json", 1, &row);
    cr_assert_eq(run_shell("sed 's/\"cpu\": .*/\"cpu\": \"Abacus\",/' old.json >new.json")->status,
                 0);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 0);
    cr_expect_not_null(strstr(ran->out, "Abacus"), "%s", ran->out);
}

Test(gate, refuses_what_is_no_whole_record, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/c")};
    write_record("new.json", 2, rows);
    expect_refusal("$hc gate --baseline none.json new.json", "none.json");
    expect_refusal("$hc gate new.json", "--baseline");
    expect_refusal("$hc gate --baseline new.json", "--baseline");
    expect_refusal("$hc gate --baseline . new.json", "not a record");
    expect_refusal("n=$(wc -c <new.json); for i in 0 1 20 400 $((n - 4)); do"
                   " head -c $i new.json >cut.json;"
                   " $hc gate --baseline new.json cut.json 2>one && exit 7; cat one >all; done;"
                   " cat all >&2; exit 2",
                   "cut.json");
    const char *edits[] = {"s/\"schema\": 1/\"schema\": 2/",
                           "s/\"schema\": 1/\"scheme\": 1/",
                           "s/\"results\"/\"rows\"/",
                           "s/\"PASS\"/\"FINE\"/",
                           "s/\"0x1p-12\"/\"small\"/",
                           "s/\"0x1p-12\"/0.25/",
                           "s/\"checked\": 100/\"checked\": \"many\"/",
                           "s/\"seed\": \"5\"/\"seed\": \"five\"/",
                           "s/\"backend\"/\"engine\"/",
                           "s/\"faults\"/\"fault\"/",
                           "s/\"cut\": null/\"cut\": 1/",
                           "s/\"results\"/\"parts\": [{\"result_count\": 7}], &/",
                           "s/\"0x1p-10\"/\"-1\"/",
                           "s/\"checked\": 100/\"checked\": -100/",
                           "s/a.c/a\\/b/"};
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "sed '%s' new.json >bad.json; $hc gate --baseline new.json bad.json",
                       edits[i]);
        expect_refusal(line, "bad.json");
    }
    write_record("empty.json", 0, NULL);
    expect_refusal("$hc gate --baseline empty.json new.json", "empty.json");
}
