#include "cli/testing.h"

#include "check/record.h"

Test(run, writes_a_record_that_can_be_read_back, .init = enter_folder)
{
    struct hc_record record;
    const struct ran *ran = run_shell("$hc run 'rounding/after-one' 'op/add/*' --level quick");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_assert_not_null(strstr(ran->out, "record: out/record.json"));
    cr_assert_eq(hc_record_read("out/record.json", &record), HC_OK);
    cr_assert_geq(record.count, 2);
    cr_assert_not_null(hc_record_find(&record, "rounding/after-one", "exact"));
    cr_assert(json_is_string(json_object_get(record.environment, "compiler")));
    cr_assert(json_is_string(json_object_get(record.environment, "cpu")));
    hc_record_free(&record);
}

Test(run, a_planted_fault_fails_and_its_repro_line_reproduces_it, .init = enter_folder)
{
    struct hc_record record;
    char line[600];
    const char *fault = "f=$($hc list faults | head -1 | cut -f1);"
                        " cases=$($hc list faults | head -1 | cut -f4)";
    (void)snprintf(line, sizeof line, "%s; $hc run \"$cases\" --seed 3 --fault $f", fault);
    cr_assert_eq(run_shell(line)->status, 1);
    cr_assert_eq(hc_record_read("out/record.json", &record), HC_OK);
    int failed = 0;
    while (failed < record.count && record.rows[failed].verdict != HC_FAIL)
        failed++;
    cr_assert_lt(failed, record.count);
    const char *repro = record.rows[failed].repro;
    cr_assert(strncmp(repro, "halfcheck ", 10) == 0);
    (void)snprintf(line, sizeof line, "$hc %s --json again.json", repro + 10);
    cr_assert_eq(run_shell(line)->status, 1, "%s", line);
    struct hc_record again;
    cr_assert_eq(hc_record_read("again.json", &again), HC_OK);
    cr_assert_eq(again.count, 1);
    cr_assert_eq(again.rows[0].verdict, HC_FAIL);
    cr_assert_eq(again.rows[0].error, record.rows[failed].error);
    cr_assert_str_eq(again.rows[0].note, record.rows[failed].note);
    hc_record_free(&again);
    hc_record_free(&record);
}

Test(run, refuses_what_does_not_exist, .init = enter_folder)
{
    expect_refusal("$hc run nonsense/*", "nonsense/*");
    expect_refusal("$hc run --backend abacus", "exact");
    expect_refusal("$hc run --backend exact,exact", "twice");
    expect_refusal("$hc run --backend exact,", "no backend ''");
    expect_refusal("$hc run --fault none-such", "none-such");
}

Test(run, says_before_it_runs_that_the_record_cannot_be_written, .init = enter_folder)
{
    expect_refusal("$hc run rounding/after-one --json /nonexistent/r.json", "/nonexistent/r.json");
    expect_refusal("$hc run rounding/after-one --json .", "cannot write");
    expect_refusal("touch out; $hc run rounding/after-one", "out");
    cr_assert_null(
        strstr(run_shell("$hc run rounding/after-one --json /nonexistent/r")->out, "component"));
}

Test(run, keeps_the_old_record_and_shows_the_results_when_the_disk_is_full, .init = enter_folder)
{
    const struct ran *ran;
    cr_assert_eq(run_shell("$hc run rounding/after-one --json r.json; cp r.json old")->status, 0);
    ran =
        run_shell("{ ulimit -f 0; $hc run rounding/after-one --json r.json; echo $?; } 2>&1 | cat");
    cr_assert_not_null(strstr(ran->out, "halfcheck: cannot write r.json"), "%s", ran->out);
    cr_assert_not_null(strstr(ran->out, "\n2\n"), "%s", ran->out);
    expect_refusal("$hc run rounding/after-one --json /dev/full", "No space left");
    ran = run_shell("cmp r.json old; ls");
    cr_assert_eq(ran->status, 0);
    cr_assert_null(strstr(ran->out, "part"), "%s", ran->out);
}

Test(run, tap_has_a_line_for_each_result_and_the_plan, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run 'op/add/*' rounding/after-one --level quick --tap"
                                      " | grep -c '^ok'");
    char plan[32];
    (void)snprintf(plan, sizeof plan, "\n1..%d\n", atoi(ran->out));
    ran = run_shell("$hc run 'op/add/*' rounding/after-one --level quick --tap");
    cr_assert_eq(ran->status, 0);
    cr_assert(strncmp(ran->out, "TAP version 13\n", 15) == 0);
    cr_assert_not_null(strstr(ran->out, plan));
}

Test(run, a_run_in_which_nothing_can_run_is_no_success, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc list cases | awk -F'\\t' '$2 == \"exhaustive\" {print $1}'"
                  " | head -1");
    char line[256];
    if (!ran->out[0])
        return;
    (void)snprintf(line, sizeof line, "$hc run --level quick %.100s",
                   strtok((char *)ran->out, "\n"));
    expect_refusal(line, "level");
}

Test(run, asked_to_stop_keeps_what_it_has, .init = enter_folder)
{
    const struct ran *ran = run_shell("timeout -s TERM 1 $hc run 'op/*' 'rounding/*' --backend host"
                                      " --level exhaustive --json r.json >/dev/null");
    cr_assert_eq(ran->status, 124, "%s", ran->err);
    cr_assert_not_null(strstr(ran->err, "stopped by signal 15 after "), "%s", ran->err);
    cr_assert_eq(run_shell("$hc gate --baseline r.json r.json")->status, 0);
    cr_assert_eq(run_shell("grep -q '\"verdict\": \"PASS\"' r.json")->status, 0);
}
