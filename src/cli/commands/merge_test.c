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

/* Runs the three shards of the eps cases. */
static void run_shards(void)
{
    cr_assert_eq(run_shell("for i in 1 2 3; do $hc run 'eps/*' --backend exact,host --shard $i/3 "
                           "--json s$i.json || exit 9; done >/dev/null")
                     ->status,
                 0);
    cr_assert_eq(run_shell("$hc run 'eps/*' --backend exact,host --json whole.json")->status, 0);
}

static const char names_of[] =
    "names() { grep -A1 '\"case\"' $1 | grep -v seconds | grep -v ^-; }; ";

Test(merge, puts_shards_together_to_the_whole_run, .init = enter_folder)
{
    char line[512];
    run_shards();
    const struct ran *ran = run_shell("$hc merge s2.json s1.json s3.json --json all.json");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    (void)snprintf(line, sizeof line,
                   "%s names all.json | paste - - | sort >all; names whole.json | paste - - | sort "
                   ">whole; test -s all && diff all whole",
                   names_of);
    cr_expect_eq(run_shell(line)->status, 0);
    cr_expect_eq(run_shell("grep -c run/shards all.json")->status, 1);
    cr_expect_eq(run_shell("$hc gate --baseline whole.json all.json")->status, 0);
}

Test(merge, mistrusts_a_run_that_lacks_a_shard_until_it_is_there, .init = enter_folder)
{
    run_shards();
    const struct ran *ran = run_shell("$hc merge s1.json s3.json --json two.json");
    cr_expect_eq(ran->status, 1);
    cr_expect_str_eq(ran->err, "halfcheck: the record is MISTRUSTED: shard 2 of 3 is missing\n");
    cr_expect_eq(
        run_shell("grep -q '\"note\": \"shard 2 of 3 is missing\"' two.json && "
                  "grep -q \"halfcheck run 'eps/\\*' --backend exact,host --shard 2/3\\\"\" "
                  "two.json")
            ->status,
        0);
    ran = run_shell("$hc merge two.json --json again.json");
    cr_expect_eq(ran->status, 1, "%s", ran->err);
    ran = run_shell("$hc merge two.json s2.json --json all.json");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_eq(run_shell("$hc gate --baseline whole.json all.json")->status, 0);
}

Test(merge, mistrusts_shards_of_different_runs, .init = enter_folder)
{
    run_shards();
    cr_assert_eq(run_shell("$hc run 'eps/*' --backend exact,host --seed 4 --shard 2/3 --json "
                           "other.json")
                     ->status,
                 0);
    const struct ran *ran = run_shell("$hc merge s1.json other.json s3.json --json all.json");
    cr_expect_eq(ran->status, 1);
    cr_expect_str_eq(ran->err, "halfcheck: the record is MISTRUSTED: shard 2 of 3 is missing; "
                               "shards 1, 3 of 3 are missing\n");
}

Test(merge, mistrusts_shards_of_which_none_ran_on_a_backend, .init = enter_folder)
{
    run_shards();
    const struct ran *ran = run_shell("sed -i 's/^ *\"host\"$/\"elsewhere\"/' s?.json; "
                                      "$hc merge s?.json --json all.json");
    cr_expect_eq(ran->status, 1);
    cr_expect_str_eq(ran->err, "halfcheck: the record is MISTRUSTED: nothing was checked on "
                               "elsewhere\n");
}
