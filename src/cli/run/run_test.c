#include "cli/testing.h"

#include "check/record/parts.h"

Test(run, writes_a_record_that_can_be_read_back, .init = enter_folder)
{
    struct hc_record record;
    const struct ran *ran =
        run_shell("$hc run 'rounding/after-one' 'op/add/*' --level quick --json r.json");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_assert_not_null(strstr(ran->out, "record: r.json"));
    cr_assert_eq(hc_record_read("r.json", &record), HC_OK);
    cr_assert_geq(record.count, 2);
    cr_assert_not_null(hc_record_find(&record, "rounding/after-one", "exact"));
    cr_assert(json_is_string(json_object_get(record.environment, "compiler")));
    cr_assert(json_is_string(json_object_get(record.environment, "cpu")));
    hc_record_free(&record);
}

Test(run, a_record_does_not_depend_on_the_number_of_jobs, .init = enter_folder)
{
    cr_assert_eq(run_shell("for n in 1 2 40; do $hc run eps op/gemm/fp16 --jobs $n --json $n.json "
                           ">/dev/null || exit 1; done")
                     ->status,
                 0);
    run_shell("for n in 1 2 40; do sed '/^ \"results\"/,/^ \\]/!d; /\"seconds\"/d' $n.json "
              ">$n.rest; done");
    const struct ran *ran = run_shell("cmp 1.rest 2.rest && cmp 1.rest 40.rest && wc -l <1.rest");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_gt(atoi(ran->out), 1000, "%s", ran->out);
    ran = run_shell("$hc run eps --jobs 257");
    cr_expect_eq(ran->status, 2);
    cr_expect_not_null(strstr(ran->err, "--jobs"), "%s", ran->err);
}

static const char hc_run_eps[] = "$hc run 'eps/*' --level quick --backend exact --seed 7";

Test(run, a_record_says_how_it_came_about, .init = enter_folder)
{
    struct hc_record record;
    cr_assert_eq(
        run_shell("$hc run 'eps/*' --level quick --backend exact --seed 7 --json r.json")->status,
        0);
    cr_assert_eq(hc_record_read("r.json", &record), HC_OK);
    char *run = json_dumps(json_object_get(record.document, "run"), JSON_COMPACT);
    cr_expect_str_eq(run, "{\"command\":[\"halfcheck\",\"run\",\"eps/*\",\"--level\",\"quick\","
                          "\"--backend\",\"exact\",\"--seed\",\"7\",\"--json\",\"r.json\"],"
                          "\"patterns\":[\"eps/*\"],\"level\":\"quick\",\"seed\":\"7\","
                          "\"backends\":[\"exact\"],\"faults\":[],\"cut\":null}");
    free(run);
    cr_expect_eq(record.part_count, 1);
    cr_expect_not_null(record.parts[0].run);
    cr_expect_null(record.parts[0].cut);
    hc_record_free(&record);
}

Test(run, of_some_cases_or_with_a_fault_leaves_the_default_record_alone, .init = enter_folder)
{
    cr_assert_eq(run_shell("mkdir out; echo kept >out/record.json")->status, 0);
    const struct ran *ran = run_shell(hc_run_eps);
    cr_expect_eq(ran->status, 0);
    cr_expect_not_null(strstr(ran->out, "\nno record: a run of some cases does not replace "
                                        "out/record.json; --json FILE writes one\n"),
                       "%s", ran->out);
    ran = run_shell("f=$($hc list faults | head -1 | cut -f1); $hc run --level quick --fault $f");
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(strstr(ran->out, "no record: a run with a planted fault"), "%s", ran->out);
    ran = run_shell("$hc run --level exhaustive --backend host --verbose >said 2>&1 & "
                    "while ! grep -q PASS said; do sleep 0.01; done; kill -INT $!; wait $!; "
                    "grep '^no record' said");
    cr_expect_not_null(strstr(ran->out, "no record: an interrupted run"), "%s", ran->out);
    cr_expect_str_eq(run_shell("cat out/record.json; ls out")->out, "kept\nrecord.json\n");
}

Test(run, of_all_cases_writes_the_default_record, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run --level quick --backend exact");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "\nrecord: out/record.json\n"));
    cr_expect_eq(run_shell("$hc gate --baseline out/record.json out/record.json")->status, 0);
}

Test(run, a_record_on_standard_output_stands_alone_there, .init = enter_folder)
{
    char line[200];
    (void)snprintf(line, sizeof line, "%s --json -", hc_run_eps);
    const struct ran *ran = run_shell(line);
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    json_t *record = json_loads(ran->out, 0, NULL);
    cr_expect(json_is_array(json_object_get(record, "results")), "%s", ran->out);
    json_decref(record);
    cr_expect_not_null(strstr(ran->err, "component"), "%s", ran->err);
    (void)snprintf(line, sizeof line, "%s --junit -", hc_run_eps);
    ran = run_shell(line);
    cr_expect_eq(strncmp(ran->out, "<?xml ", 6), 0, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "</testsuites>\n"));
    cr_expect_null(strstr(ran->out, "component "), "%s", ran->out);
    (void)snprintf(line, sizeof line, "%s --json - --tap", hc_run_eps);
    expect_refusal(line, "stdout");
    (void)snprintf(line, sizeof line, "%s --json - >/dev/full", hc_run_eps);
    ran = run_shell(line);
    cr_expect_eq(ran->status, 2);
    cr_expect_not_null(strstr(ran->err, "cannot write standard output: No space"), "%s", ran->err);
    cr_expect_eq(run_shell("ls -A | grep -v '^.std'")->status, 1);
}

/* The first listed fault that is planted there, with the first of its patterns. */
static void expect_reproduced(const char *place)
{
    struct hc_record record;
    struct hc_record again;
    char line[600];
    (void)snprintf(
        line, sizeof line,
        "row=$($hc list faults | awk -F'\t' '$6 == \"%s\" {print; exit}');"
        " f=$(echo \"$row\" | cut -f1); cases=$(echo \"$row\" | cut -f4 | cut -d' ' -f1);"
        " $hc run \"$cases\" --seed 3 --fault $f --json first.json",
        place);
    cr_assert_eq(run_shell(line)->status, 1, "%s", line);
    cr_assert_eq(hc_record_read("first.json", &record), HC_OK);
    int failed = 0;
    while (failed < record.count && record.rows[failed].verdict != HC_FAIL)
        failed++;
    cr_assert_lt(failed, record.count);
    const char *repro = record.rows[failed].repro;
    cr_assert(strncmp(repro, "halfcheck ", 10) == 0);
    (void)snprintf(line, sizeof line, "$hc %s --json again.json", repro + 10);
    cr_assert_eq(run_shell(line)->status, 1, "%s", line);
    cr_assert_eq(hc_record_read("again.json", &again), HC_OK);
    cr_assert_eq(again.count, 1);
    cr_assert_eq(again.rows[0].verdict, HC_FAIL);
    cr_assert_eq(again.rows[0].error, record.rows[failed].error);
    cr_assert_str_eq(again.rows[0].note, record.rows[failed].note);
    hc_record_free(&again);
    hc_record_free(&record);
}

Test(run, a_planted_fault_fails_and_its_repro_line_reproduces_it, .init = enter_folder)
{
    expect_reproduced("exact");
    expect_reproduced("host");
    expect_reproduced("both");
}

Test(run, takes_the_beginning_of_names_up_to_a_slash, .init = enter_folder)
{
    static const char *const lines[][2] = {{"eps", "'eps/*'"},
                                           {"op/scale", "'op/scale/*'"},
                                           {"rounding/ eps", "'rounding/*' 'eps/*'"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[400];
        (void)snprintf(line, sizeof line,
                       " $hc run %s --level quick --backend exact --tap >a;"
                       " $hc run %s --level quick --backend exact --tap >b;"
                       " sed -i 2d a b; cmp a b && grep -c ^ok a",
                       lines[i][0], lines[i][1]);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
        cr_expect_gt(atoi(ran->out), 0);
    }
    expect_refusal("$hc run ep --level quick", "no case matches 'ep'");
    expect_refusal("$hc run epz --level quick", "did you mean 'eps'?");
}

Test(run, refuses_what_does_not_exist, .init = enter_folder)
{
    expect_refusal("$hc run nonsense/*", "nonsense/*");
    expect_refusal("$hc run --backend abacus", "exact");
    expect_refusal("$hc run --backend exact,exact", "twice");
    expect_refusal("$hc run --backend exact,", "--backend 'exact,': an element is empty");
    expect_refusal("$hc run --backend exact --backend exact", "twice");
    expect_refusal("$hc run --backend hots", "no backend 'hots'; did you mean 'host'? there are: ");
    expect_refusal("$hc run epss", "no case matches 'epss'; did you mean 'eps'?");
    expect_refusal("$hc run adam", "did you mean 'op/adam'?");
    expect_refusal("$hc run ''", "no case matches ''");
    expect_refusal("$hc run epss/*", "did you mean 'eps/*'?");
    expect_refusal("$hc run op/ad/*", "did you mean 'op/add/*'?");
    expect_refusal("$hc run roundign/after-one", "did you mean 'rounding/after-one'?");
    expect_refusal("$hc run --fault axpy-not-fussed", "did you mean 'axpy-not-fused'?");
    expect_refusal("$hc run --fault none-such", "none-such");
}

/* The later one would take the other's place. */
Test(run, refuses_two_outputs_in_one_file, .init = enter_folder)
{
    expect_refusal("$hc run 'op/scale/*' --json a --junit a", "name the same file");
    expect_refusal("$hc run 'op/scale/*' --json a --junit ../${PWD##*/}/./a", "same file");
    cr_expect_eq(
        run_shell("mkdir b; $hc run 'op/scale/*' --level quick --json a --junit b/a")->status, 0);
    cr_expect_eq(run_shell("$hc run 'op/scale/*' --json /dev/null --junit /dev/null")->status, 0);
}

Test(run, backends_add_up, .init = enter_folder)
{
    const char *line = "$hc run 'eps/*' --level quick --backend ' exact , host' --json a.json &&"
                       " $hc run 'eps/*' --level quick --backend exact --backend host --json b.json"
                       " && $hc gate --baseline a.json b.json && grep -q '\"backend\": \"host\"' "
                       "b.json && grep -q '\"backend\": \"exact\"' b.json";
    cr_expect_eq(run_shell(line)->status, 0);
}

Test(run, says_before_it_runs_that_the_record_cannot_be_written, .init = enter_folder)
{
    expect_refusal("$hc run rounding/after-one --json /nonexistent/r.json", "/nonexistent/r.json");
    expect_refusal("$hc run rounding/after-one --json .", "cannot write");
    expect_refusal("touch out; $hc run --level quick", "out");
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
    if (!*ran->out)
        return;
    (void)snprintf(line, sizeof line, "$hc run --level quick %.100s",
                   strtok((char *)ran->out, "\n"));
    expect_refusal(line, "level");
}

Test(run, asked_to_stop_keeps_what_it_has, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run 'op/*' 'rounding/*' --backend host --verbose"
                                      " --level exhaustive --json r.json >said & "
                                      "while ! grep -q PASS said; do sleep 0.01; done; "
                                      "kill -TERM $!; wait $!");
    cr_assert_eq(ran->status, 2, "%s", ran->err);
    cr_assert_not_null(strstr(ran->err, "stopped by signal 15 after "), "%s", ran->err);
    expect_refusal("$hc gate --baseline r.json r.json",
                   "was cut short: stopped by signal 15 after ");
    cr_assert_eq(run_shell("grep -q '\"verdict\": \"PASS\"' r.json")->status, 0);
}

/* avx512fp16 is the partial backend that is built in; where the processor lacks it this says
   nothing. */
Test(run, what_is_left_out_is_counted_in_the_table_the_record_and_the_status, .init = enter_folder)
{
    if (run_shell("$hc list backends | grep -P '^avx512fp16\tyes'")->status != 0)
        return;
    const struct ran *ran = run_shell("$hc run 'op/add/*' --backend avx512fp16 --json r.json");
    cr_assert_eq(ran->status, 0, "%s", ran->out);
    cr_assert_not_null(strstr(ran->out, "left out  "), "%s", ran->out);
    cr_assert_not_null(strstr(ran->out, " cases left out\n"), "%s", ran->out);
    cr_assert_eq(run_shell("grep -q '\"refused\": [1-9]' r.json")->status, 0);
    expect_refusal("$hc run 'op/gemm/*' --backend exact,avx512fp16 --level quick",
                   "nothing was checked on avx512fp16: all ");
}

/* A file's name may contain what a terminal obeys. */
Test(run, names_of_files_are_printed_escaped, .init = enter_folder)
{
    static const char *const lines[] = {
        "$hc run eps --level quick --backend exact --json \"$(printf 'r\\033[31m.json')\"",
        "$hc report r*.json --out \"$(printf 'p\\033[31m')\"",
        "$hc report r*.json --format md --out \"$(printf 'p\\033[31m')\""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct ran *ran = run_shell(lines[i]);
        cr_expect_eq(ran->status, 0, "%s: %s", lines[i], ran->err);
        cr_expect_null(strchr(ran->out, '\033'), "%s: %s", lines[i], ran->out);
        cr_expect_not_null(strstr(ran->out, " [31m"), "%s: %s", lines[i], ran->out);
    }
}
