#include "cli/testing.h"

static const char checks[] =
    "$hc run 'eps/*' --level quick --backend exact --json eps.json >/dev/null; "
    "$hc run 'rounding/after-one' --backend exact --seed 7 --json folder.d/rounding.json "
    ">/dev/null";

Test(merge, keeps_every_result_and_rate, .init = enter_folder)
{
    cr_assert_eq(run_shell("mkdir folder.d")->status, 0);
    cr_assert_eq(run_shell(checks)->status, 0);
    cr_assert_eq(run_shell("$hc bench reference/add-fp16 --json rates.json")->status, 0);
    const struct ran *ran =
        run_shell("$hc merge eps.json folder.d/rounding.json rates.json --json all.json");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_eq(run_shell("test $(grep -c '\"case\"' all.json) = "
                           "$(cat eps.json folder.d/rounding.json | grep -c '\"case\"')")
                     ->status,
                 0);
    cr_expect_eq(run_shell("grep -q '\"case\": \"rounding/after-one\"' all.json")->status, 0);
    cr_expect_eq(run_shell("grep -q '\"rate\"' all.json")->status, 0);
    cr_expect_eq(run_shell("grep -q '\"name\": \"rounding\"' all.json")->status, 0);
    cr_expect_eq(run_shell("$hc gate --baseline all.json all.json")->status, 0);
}

Test(merge, keeps_how_each_part_was_run, .init = enter_folder)
{
    cr_assert_eq(run_shell("mkdir folder.d")->status, 0);
    cr_assert_eq(run_shell(checks)->status, 0);
    cr_assert_eq(run_shell("$hc merge eps.json folder.d/rounding.json --json all.json")->status, 0);
    const char *words[] = {"\"eps/*\"", "\"level\": \"quick\"", "\"level\": \"standard\"",
                           "\"seed\": \"7\"", "\"result_count\": 1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "sed -n '/\"parts\"/,$p' all.json | grep -qF '%s'",
                       words[i]);
        cr_expect_eq(run_shell(line)->status, 0, "%s", words[i]);
    }
    cr_expect_eq(
        run_shell("$hc merge all.json --json - | $hc gate --baseline all.json /dev/stdin")->status,
        0);
}

Test(merge, refuses_a_result_that_stands_in_two, .init = enter_folder)
{
    cr_assert_eq(run_shell("mkdir folder.d")->status, 0);
    cr_assert_eq(run_shell(checks)->status, 0);
    expect_refusal("$hc merge eps.json eps.json --json all.json", "duplicate result of eps/");
    cr_expect_neq(access("all.json", F_OK), 0);
}

Test(merge, refuses_what_is_no_record, .init = enter_folder)
{
    write_text("text.json", "none\n");
    expect_refusal("$hc merge text.json --json all.json", "text.json: not a record");
    expect_refusal("$hc merge none.json --json all.json", "cannot read none.json");
    expect_refusal("$hc merge --json all.json", "--json FILE and records");
    expect_refusal("$hc merge text.json", "--json FILE and records");
    expect_refusal("$hc merge text.json --json /nonexistent/all.json", "cannot write");
}
