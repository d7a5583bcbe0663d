/* What is accepted for a while, by whom it was explained, and until when. */
#include "cli/gate/testing.h"

static const char dated[] = "$hc gate --baseline old.json new.json --today 2026-06-15";

static void write_failing(const char *allowances)
{
    struct hc_row rows[] = {passing("a/b"), passing("a/c"), passing("d/e")};
    write_record("old.json", 3, rows);
    rows[0].verdict = rows[1].verdict = HC_FAIL;
    rows[1].backend = "exact";
    write_record("new.json", 3, rows);
    write_text("old.json.allow", allowances);
}

static void expect_says(const char *line, int status, const char *words)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %s%s", line, ran->out, ran->err);
    cr_expect(says(ran->out, words), "'%s' is not in: %s", words, ran->out);
}

Test(allowances, allow_what_they_name_and_are_counted, .init = enter_folder)
{
    write_failing("# known\n\n  a/*   verdict\tuntil 2026-06-15  a ticket, # 12\r\n");
    expect_says(dated, 0, "allowed (verdict): 2 results until 2026-06-15: a ticket, # 12 a/b");
    expect_says(dated, 0, "PASS: nothing is worse than in old.json, 2 allowed");
    write_failing("a/b verdict until 2026-12-31 one\n");
    expect_says(dated, 1, "FAIL: 1 worse (1 verdict), 1 allowed");
    write_failing("a/*@exact verdict until 2026-12-31 one\n");
    expect_says(dated, 0, "2 allowed");
    write_failing("d/e verdict until 2026-12-31 of another\na/* error until 2026-12-31 kind\n");
    expect_says(dated, 1, "FAIL: 2 worse (2 verdict)");
    cr_assert_eq(rename("old.json.allow", "elsewhere"), 0);
    expect_says(dated, 1, "FAIL: 2 worse");
    write_text("elsewhere", "* verdict until 2026-12-31 all");
    expect_says("$hc gate --baseline old.json new.json --today 2026-06-15 --allowances elsewhere",
                0, "2 allowed");
}

Test(allowances, expire_at_the_end_of_their_day, .init = enter_folder)
{
    write_failing("a/* verdict until 2026-06-14 a ticket\n");
    expect_says(dated, 1, "old.json.allow:1: expired on 2026-06-14: a/* verdict: a ticket");
    expect_says(dated, 1, "(2 verdict), 2 of which were allowed until their allowances expired");
    expect_says("$hc gate --baseline old.json new.json --today 2026-06-14", 0, "2 allowed");
    write_failing("a/* verdict until 2026-06-14 old\na/* verdict until 2026-07-01 renewed\n");
    expect_says(dated, 0, "2 allowed"); /* either may allow */
    write_failing("a/* verdict until 2000-01-01 long ago\n");
    expect_says(gate, 1, "expired on 2000-01-01");
}

Test(allowances, that_allow_nothing_are_said, .init = enter_folder)
{
    write_failing("* verdict until 2026-12-31 used\nd/e bound until 2026-12-31 not used\n");
    expect_says(dated, 0,
                "old.json.allow:2: allows nothing and can be removed: d/e bound: not used");
    cr_expect(!says(run_shell(dated)->out, "old.json.allow:1"));
    const struct ran *ran =
        run_shell("$hc gate --baseline old.json new.json 'a/*' --today 2026-06-15");
    cr_expect(!says(ran->out, "old.json.allow:2"), "%s", ran->out); /* it may, of other cases */
}

/* A failure that the baseline has, too, needs no allowance; but where one explains it, it is known
   only as long as that holds. */
Test(allowances, explain_known_failures_until_they_expire, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    row.verdict = HC_FAIL;
    write_record("old.json", 1, &row);
    write_record("new.json", 1, &row);
    expect_says(dated, 0, "1 of which fails as before");
    write_text("old.json.allow", "a/b verdict until 2026-12-31 a ticket\n");
    expect_says(dated, 0, "FAIL, as before");
    expect_says(dated, 0, "PASS: nothing is worse than in old.json, 1 allowed");
    write_text("old.json.allow", "a/b verdict until 2026-01-01 a ticket\n");
    expect_says(dated, 1, "(1 verdict), 1 of which was allowed until that expired");
}

Test(allowances, that_say_nothing_clear_are_refused, .init = enter_folder)
{
    static const struct {
        const char *text;
        const char *says;
    } wrong[] = {
        {"a/b\n", "old.json.allow:1: the kind of finding is one of verdict, error"},
        {"a/b wrong until 2026-12-31 why\n", "not 'wrong'"},
        {"a/b better until 2026-12-31 why\n", "not 'better'"},
        {"\n\na/b verdict 2026-12-31 why\n", "old.json.allow:3: 'until YYYY-MM-DD' must follow"},
        {"a/b verdict until 2026-02-29 why\n", "'2026-02-29' is no date"},
        {"a/b verdict until 2026-13-01 why\n", "is no date"},
        {"a/b verdict until 31.12.2026 why\n", "is no date"},
        {"a/b verdict until 2026-12-311 why\n", "is no date"},
        {"a/b verdict until\n", "'' is no date"},
        {"a/b verdict until 2026-12-31\n", "the reason is missing"},
        {"a/b verdict until 2026-12-31  \r\n", "the reason is missing"},
        {"a/x verdict until 2026-12-31 why\n",
         "old.json.allow:1: the pattern 'a/x' matches no case"},
        {"a/b@host verdict until 2026-12-31 why\n", "matches no case"},
        {"\033[31m verdict until 2026-12-31 why\n", "matches no case"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_failing(wrong[i].text);
        expect_refusal(dated, wrong[i].says);
    }
    write_failing("");
    expect_says(dated, 1, "2 worse");
    expect_refusal(
        "printf 'a/b verdict until 2026-12-31 w\\0y' >old.json.allow; $hc gate --baseline "
        "old.json new.json",
        "a byte that is zero");
    expect_refusal(
        "head -c 2000000 /dev/zero >old.json.allow; $hc gate --baseline old.json new.json",
        "larger than 1 MiB");
    expect_refusal("$hc gate --baseline old.json new.json --allowances none", "cannot read none");
    expect_refusal("$hc gate --baseline old.json new.json --allowances .", "cannot read .");
    expect_refusal("$hc gate --baseline old.json new.json --today tomorrow", "not 'tomorrow'");
}
