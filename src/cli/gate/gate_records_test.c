/* What the gate makes of records that were made differently, and of what is no whole record. */
#include "cli/gate/testing.h"

Test(gate_records, results_of_other_inputs_are_said_not_to_be_compared, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.seed = 6;
    is.bound = 4 * is.bound;
    is.checked = 1;
    expect(passing("a/b"), is, 1, "not comparable (seed): 1 result: seed 6, was 5");
    expect_allowed("--allow level", passing("a/b"), is, 1);
    expect_allowed("--allow seed --allow level", passing("a/b"), is, 0);
    is.verdict = HC_FAIL; /* that can be compared */
    expect_allowed("--allow seed", passing("a/b"), is, 1);
    is = passing("a/b");
    is.unit = "ulp";
    expect(passing("a/b"), is, 1, "not comparable (unit): 1 result: in ulp, was in abs");
    expect_allowed("--allow=unit", passing("a/b"), is, 0);
    is.checked = 99;
    expect_allowed("--allow=unit", passing("a/b"), is, 1);
    expect_refusal("$hc gate --baseline old.json new.json --allow everything", "everything");
    expect_refusal("$hc gate --baseline old.json new.json --allow verdict", "not 'verdict'");
}

Test(gate_records, another_level_is_said, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/c")};
    write_record("old.json", 2, rows);
    rows[1].checked = 7;
    write_run("new.json", &(struct hc_invocation){.level = "standard"}, 2, rows);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1);
    cr_expect(says(ran->out, "not comparable (level): 2 results: level standard, was quick a/b on "
                             "exact a/c on exact "),
              "%s", ran->out);
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json --allow level")->status, 0);
}

/* The level stands in the parts of what is merged: all must be compared as before. */
Test(gate_records, compares_merged_records_part_by_part, .init = enter_folder)
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
    cr_expect(says(ran->out, "FAIL: 2 worse (1 bound, 1 checked) "), "%s", ran->out);
    cr_assert_eq(run_shell("$hc merge old.json --json again.json")->status, 0);
    cr_expect_eq(run_shell("$hc gate --baseline again.json old.json")->status, 0);
    write_run("c.json", &usual, 1, &rows[1]);
    cr_assert_eq(run_shell("$hc merge a.json c.json --json new.json")->status, 0);
    cr_expect(says(run_shell(gate)->out, "1 not comparable (1 level)"));
}

Test(gate_records, many_alike_are_one_line_and_all_lists_them, .init = enter_folder)
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
    cr_expect_leq(lines_of(ran->out), 15, "%s", ran->out);
    cr_expect(says(ran->out, "worse (bound): 279 results even exact 140; the worst: even/001"));
    cr_expect(says(ran->out, "worse (missing): 20 results: "));
    cr_expect(says(ran->out, " even exact 10 odd exact 10 "), "%s", ran->out);
    cr_expect(says(ran->out, " odd/000 on exact "), "%s", ran->out);
    cr_expect_gt(lines_of(run_shell("$hc gate --baseline old.json new.json --all")->out), 580);
}

Test(gate_records, what_cannot_run_on_a_machine_is_said_with_the_reason, .init = enter_folder)
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
    cr_expect(says(ran->out, "not comparable (machine): 1 result: abacus could not run"
                             " on that machine: no beads"),
              "%s", ran->out);
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json --allow machine")->status, 0);
    cr_assert_eq(
        run_shell("sed 's/\"run\": {/\"left_out\": {\"abacus\": {\"a\": {\"absent\": 1, "
                  "\"refused\": 0, \"why\": \"it lacks a bead\"}}},&/' whole.json >new.json")
            ->status,
        0);
    ran = run_shell(gate);
    cr_expect(says(ran->out, "worse (missing): 1 result: missing from the record; cases like it "
                             "were left out there by abacus"),
              "%s", ran->out);
    cr_expect_eq(run_shell("$hc gate --baseline old.json whole.json --allow machine")->status, 1);
    write_text("known", "a/b@abacus missing until 9999-12-31 it is at the menders'\n");
    cr_expect_eq(run_shell("$hc gate --baseline old.json whole.json --allowances known")->status,
                 0);
}

Test(gate_records, refuses_what_was_cut_short_or_has_a_fault, .init = enter_folder)
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

Test(gate_records, says_what_older_records_do_not_tell, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    write_record("new.json", 1, &row);
    write_run("bare.json", NULL, 1, &row);
    cr_assert_eq(
        run_shell("sed 's/\"results\"/\"level\": \"quick\", &/' bare.json >old.json")->status, 0);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1);
    cr_expect(says(ran->out, "1 not comparable (1 unknown)"), "%s", ran->out);
    row.bound *= 2;
    write_record("new.json", 1, &row);
    const char *allow = "$hc gate --baseline old.json new.json --allow unknown";
    cr_expect_eq(run_shell(allow)->status, 1); /* the bound is compared: the level is known */
    cr_expect(says(run_shell(allow)->out, "(1 bound)"));
    cr_expect(
        says(run_shell("$hc gate --baseline bare.json new.json")->out, "at which level it ran"));
    /* Of trainings, those that did not learn are worse, whatever the baseline says. */
    ran = run_shell("r='" HC_SOURCE "/reports/measured/xeon-sapphire-rapids-2-cores/airplane-dog/"
                    "record.json'; $hc gate --baseline $r $r --allow unknown");
    cr_expect(says(ran->out, "FAIL: 2 worse (2 training)"), "%s%s", ran->out, ran->err);
}

Test(gate_records, another_machine_is_named, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    write_record("old.json", 1, &row);
    cr_assert_eq(run_shell("sed 's/\"cpu\": .*/\"cpu\": \"Abacus\",/' old.json >new.json")->status,
                 0);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 0);
    cr_expect(says(ran->out, "Abacus"), "%s", ran->out);
}

Test(gate_records, refuses_what_is_no_whole_record, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/c")};
    write_record("new.json", 2, rows);
    expect_refusal("$hc gate --baseline none.json new.json", "none.json");
    expect_refusal("$hc gate new.json", "--baseline");
    expect_refusal("$hc gate --baseline new.json", "--baseline");
    expect_refusal("$hc gate --baseline . new.json", "cannot read .");
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
    cr_expect_eq(run_shell("$hc gate --baseline empty.json new.json")->status, 1);
    cr_expect(says(run_shell("$hc gate --baseline empty.json new.json")->out,
                   "FAIL: nothing stands in both"));
}

/* One version of halfcheck says the same of every machine, null where it knows nothing. */
Test(gate_records, a_side_that_keeps_a_member_of_its_environment_to_itself_is_not_comparable,
     .init = enter_folder)
{
    static const char *const keys[] = {"cpu", "compiler", "os", "halfcheck"};
    struct hc_row row = passing("a/b");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (int side = 0; side < 2; side++) {
            char line[200];
            char words[120];
            write_record("old.json", 1, &row);
            write_record("new.json", 1, &row);
            (void)snprintf(line, sizeof line, "sed -i '/\"%s\":/d' %s.json; %s", keys[i],
                           side ? "old" : "new", gate);
            (void)snprintf(words, sizeof words, "the %s does not say its %s",
                           side ? "baseline" : "record", keys[i]);
            const struct ran *ran = run_shell(line);
            cr_expect(ran->status == 1 && says(ran->out, words), "%s: %s%s", line, ran->out,
                      ran->err);
            (void)snprintf(line, sizeof line, "%s --allow unknown", gate);
            cr_expect_eq(run_shell(line)->status, 0);
        }
}
