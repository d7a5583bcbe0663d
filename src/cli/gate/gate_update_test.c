/* A record that becomes the new baseline: failures get in only where somebody explains them. */
#include "cli/gate/testing.h"

#include <sys/stat.h>

static const char update[] =
    "$hc gate --baseline old.baseline new.json --update --today 2026-06-15";

static void expect_update(const char *line, int status, const char *words)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %s%s", line, ran->out, ran->err);
    cr_expect(says(ran->out, words), "'%s' is not in: %s", words, ran->out);
}

Test(gate_update, makes_a_baseline_and_then_another, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/c"), passing("d/e")};
    write_record("new.json", 2, rows);
    expect_update(update, 0, "PASS: old.baseline is the new baseline: 2 results");
    expect_update("$hc gate --baseline old.baseline new.json", 0, "2 the same");
    rows[0].bound *= 2;
    write_record("new.json", 3, rows);
    cr_expect_eq(run_shell("$hc gate --baseline old.baseline new.json")->status, 1);
    expect_update(update, 0, "worse (bound): 1 result");
    expect_update("$hc gate --baseline old.baseline new.json", 0, "3 the same");
    expect_update("head -1 old.baseline", 0, "halfcheck baseline 1");
}

Test(gate_update, takes_no_failure_that_nobody_explains, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/c")};
    write_record("new.json", 2, rows);
    cr_assert_eq(run_shell(update)->status, 0);
    cr_assert_eq(run_shell("cp old.baseline before")->status, 0);
    rows[0].verdict = HC_FAIL;
    rows[0].note = "it is off";
    write_record("new.json", 2, rows);
    expect_update(update, 1, "not written: a/b on exact is FAIL: it is off");
    expect_update(update, 1,
                  "FAIL: old.baseline was not written: 1 result fails, and no allowance explains "
                  "it");
    cr_expect_eq(run_shell("cmp old.baseline before")->status, 0);
    write_text("old.baseline.allow", "a/b verdict until 2026-01-01 it was explained once\n");
    expect_update(update, 1, "no allowance explains it");
    write_text("old.baseline.allow", "a/b verdict until 2026-12-31 a ticket\n");
    expect_update(update, 0, "written as it is: a/b on exact is FAIL: it is off");
    expect_update(update, 0, "PASS: old.baseline is the new baseline: 2 results, 1 FAIL");
    cr_assert_eq(run_shell("rm old.baseline.allow")->status, 0); /* the baseline knows it now */
    expect_update(update, 0, "2 results, 1 FAIL");
    cr_assert_eq(run_shell("rm old.baseline")->status, 0);
    expect_update(update, 1, "no allowance explains it");
    cr_expect_eq(run_shell("test -e old.baseline")->status, 1);
    write_text("old.baseline.allow", "a/b verdict until 2026-12-31 a ticket\n");
    expect_update(update, 0, "2 results, 1 FAIL");
}

Test(gate_update, refuses_what_is_no_evidence, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    write_record("new.json", 1, &row);
    expect_refusal("$hc gate --baseline new.json ./new.json --update", "the same file");
    expect_refusal("$hc gate --baseline old.baseline new.json a/b --update", "without patterns");
    expect_refusal("$hc gate --baseline old.baseline new.json --update --json a", "--update alone");
    expect_refusal("$hc gate --baseline no/where new.json --update", "no/where");
    write_run("new.json", &(struct hc_invocation){.level = "quick", .cut = "stopped"}, 1, &row);
    expect_refusal(update, "was cut short: stopped");
    write_run("new.json", &(struct hc_invocation){.level = "quick", .fault = "add-one"}, 1, &row);
    expect_refusal(update, "the planted fault add-one");
    const struct hc_shard shard = {.index = 2, .of = 3, .plan = 77};
    write_run("new.json", &(struct hc_invocation){.level = "quick", .shard = &shard}, 1, &row);
    expect_refusal(update, "new.json is shard 2 of 3");
    expect_refusal("$hc merge new.json --json all.json 2>no; $hc gate --baseline old.baseline "
                   "all.json --update",
                   "all.json is not whole");
    write_record("new.json", 0, NULL);
    expect_refusal(update, "no results");
    row.verdict = HC_SKIPPED;
    row.digest = 1;
    row.digest_bits = 64;
    write_record("new.json", 1, &row);
    expect_refusal(update, "bits that no reference has judged");
    cr_expect_eq(run_shell("test -e old.baseline")->status, 1);
}

/* Without its shards a record is evidence of nothing; a lone one is that of its own cases. */
Test(gate_update, shards_are_gated_together, .init = enter_folder)
{
    struct hc_row rows[] = {passing("a/b"), passing("c/d")};
    const struct hc_backend exact = {.name = "exact"};
    const struct hc_backend *backends[] = {&exact};
    write_record("old.json", 2, rows);
    for (int i = 0; i < 2; i++) {
        char name[8];
        const struct hc_shard shard = {.index = i + 1, .of = 2, .plan = 5};
        (void)snprintf(name, sizeof name, "%d.json", i + 1);
        write_run(name,
                  &(struct hc_invocation){
                      .level = "quick", .shard = &shard, .backends = backends, .backend_count = 1},
                  1, &rows[i]);
    }
    cr_assert_eq(run_shell("$hc merge 1.json 2.json --json new.json")->status, 0);
    expect_update(gate, 0, "2 the same");
    expect_refusal("$hc merge 1.json --json part.baseline",
                   "no baseline was written to part.baseline: shard 2 of 2 is missing");
    cr_expect_eq(run_shell("test -e part.baseline")->status, 1);
    expect_update("$hc gate --baseline 1.json new.json", 0,
                  "PASS: the baseline is shard 1 of 2, nothing is worse than in 1.json");
    expect_update("$hc gate --baseline old.json 1.json", 1, "FAIL: the record is shard 1 of 2");
    expect_update("$hc gate --baseline old.json 1.json", 1, "which is one shard of a run");
    expect_update("$hc gate --baseline old.json 1.json 'a/*'", 0, "PASS: the record is shard 1");
}
