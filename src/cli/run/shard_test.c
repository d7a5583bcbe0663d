#include "cli/run/shard.h"

#include "cli/testing.h"

Test(run_shard, may_be_empty, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "for i in 1 2 3; do $hc run rounding/after-one --backend exact --shard $i/3 --json "
        "s$i.json "
        "|| exit 9; done; $hc merge s?.json --json all.json && grep -c '\"case\"' all.json");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "\n1\n"), "%s", ran->out);
}

Test(run_shard, writes_no_default_record, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run --level quick --shard 9999/10000; ls");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "no record: a shard does not replace out/record.json"));
    cr_expect_null(strstr(ran->out, "\nout\n"));
}

Test(run_shard, refuses_what_is_no_part_of_a_whole, .init = enter_folder)
{
    const char *const wrong[] = {"0/3",  "4/3",  "3",    "3/",    "/3",   "a/b",  "1/3x",
                                 "-1/3", "1/-3", "1//3", "1/0x3", "+1/3", "1/+3", "1/10001"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "$hc run eps/* --shard %s", wrong[i]);
        expect_refusal(line, "--shard wants I/N with I from 1 to N");
    }
    expect_refusal("$hc run --times r.json", "--times balances shards, so it needs --shard");
    expect_refusal("$hc run --shard 1/2 --times r.json", "cannot read r.json");
}

/* The record says that one case takes as long as all others together, so it has a shard of its
   own. */
Test(run_shard, follows_the_times_of_a_record, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "$hc run 'eps/*' --level quick --backend exact --json r.json >/dev/null; "
        "first=$(grep -m1 '\"case\"' r.json); "
        "sed -i 's/\"seconds\":.*,/\"seconds\": 0.001,/; 0,/\"seconds\"/s/\"seconds\":.*,/"
        "\"seconds\": 100.0,/' r.json; "
        "$hc run 'eps/*' --level quick --backend exact --shard 1/2 --times r.json --json s.json "
        ">/dev/null; test \"$(grep '\"case\"' s.json)\" = \"$first\"");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

/* The table lists what takes long. A case that it lists for `exact` alone was too short on `host`,
   not unknown there. */
Test(run_shard, expects_little_of_a_case_that_is_long_on_another_backend_alone)
{
    double on_exact = hc_shard_seconds("rounding/fp16/sub", "exact", HC_EXHAUSTIVE);
    double on_host = hc_shard_seconds("rounding/fp16/sub", "host", HC_EXHAUSTIVE);
    double elsewhere = hc_shard_seconds("rounding/fp16/sub", "a-backend", HC_EXHAUSTIVE);
    cr_expect_gt(on_exact, 10);
    cr_expect_lt(on_host, 5, "%g", on_host);
    cr_expect_eq(elsewhere, on_exact);
}
