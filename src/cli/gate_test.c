#include "cli/testing.h"

#include <math.h>

#include "check/record.h"

/* A record of one result, after `change` has had its way with it. */
static void write_record(const char *path, int count, const struct hc_row *rows)
{
    json_t *record = hc_record_new();
    (void)json_object_set_new(record, "level", json_string("quick"));
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

/* The gate's verdict on `is` after `was`, and that it says so. */
static void expect(struct hc_row was, struct hc_row is, int status, const char *word)
{
    write_record("old.json", 1, &was);
    write_record("new.json", 1, &is);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, status, "%s: %s%s", word, ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, word), "%s: %s", word, ran->out);
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
        expect(other, passing("a/b"), 0, "better");
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
    is.seed = 6;
    expect(passing("a/b"), is, 0, "0 worse");
    struct hc_row lucky = passing("a/b");
    lucky.error = 0;
    expect(lucky, passing("a/b"), 1, "error/bound");
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
