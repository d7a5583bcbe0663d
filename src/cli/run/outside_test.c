/* Programs behind a pipe on the command line: docs/pipe/program.c, which has axpy, as it is, with
   its product rounded, and wrong. */
#include "cli/testing.h"

#define PROGRAM HC_SOURCE "/docs/pipe/program.c"

static const char compile[] =
    "sum='fmaf(alpha, get(&x, i), get(&y, i))'; by=$(echo \"$formula\" | sed 's/&/\\\\&/g')\n"
    "sed \"s|$sum|$by|\" '" PROGRAM "' >p.c && grep -qF \"$formula\" p.c &&"
    " cc -O2 -ffp-contract=off -o program p.c -lm";

/* Makes ./program, which computes that formula. */
static void make(const char *formula)
{
    cr_assert_eq(setenv("formula", formula, 1), 0);
    const struct ran *ran = run_shell(compile);
    cr_assert_eq(ran->status, 0, "%s", ran->err);
}

static void enter_with_program(void)
{
    enter_folder();
    make("fmaf(alpha, get(&x, i), get(&y, i))");
}

static void make_unfused(void)
{
    enter_folder();
    make("alpha * get(&x, i) + get(&y, i)");
}

static void make_wrong(void)
{
    enter_folder();
    make("alpha * get(&x, i) + get(&y, i) * 1.0001f");
}

Test(outside, a_program_passes_and_what_it_lacks_is_counted, .init = enter_with_program)
{
    const struct ran *ran =
        run_shell("$hc run 'op/axpy/*' op/add/fp32/257/normal --backend pipe:./program");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "\nprogram, which is pipe:./program\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "  lacks      "), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "; cases left out: 1"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "  refused    cases left out: "), "%s", ran->out);
    cr_expect_eq(run_shell("awk 'length > 80 { exit 1 }' .stdout")->status, 0);
}

Test(outside, another_order_passes_and_fails_only_where_an_order_is_asked_for, .init = make_unfused)
{
    const struct ran *ran = run_shell("$hc run 'op/axpy/*' 'bits/axpy/*' --backend pipe:./program");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "state an order of roundings"), "%s", ran->out);
    ran = run_shell("$hc run 'op/axpy/*' --backend pipe:./program --order ours");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    ran = run_shell("$hc run 'bits/axpy/fp32' --backend pipe:./program --order ours");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    ran = run_shell("$hc run 'bits/axpy/fp32' --backend pipe:./program --order torch-fused");
    cr_expect_eq(ran->status, 2, "%s%s", ran->out, ran->err);
}

Test(outside, a_failure_prints_the_command_that_repeats_it, .init = make_wrong)
{
    const struct ran *ran =
        run_shell("$hc run op/axpy/fp32/257/normal --backend 'pipe:exec  ./program \"a,b\"'");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    const char *line = strstr(ran->out, "    halfcheck run ");
    cr_assert_not_null(line, "%s", ran->out);
    char command[1024];
    (void)snprintf(command, sizeof command, "IFS=' '; eval \"$hc%.*s\"",
                   (int)strcspn(line + 13, "\n"), line + 13);
    for (char *c = strchr(command + 20, '"'); c && c[1]; c = strchr(c + 2, '"')) {
        memmove(c + 1, c, strlen(c) + 1); /* within "" */
        *c = '\\';
    }
    ran = run_shell(command);
    cr_expect_eq(ran->status, 1, "%s: %s%s", command, ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "a,b"), "%s", ran->out);
}

Test(outside, repeated_options_add_backends_and_a_command_keeps_its_commas,
     .init = enter_with_program)
{
    const struct ran *ran = run_shell("$hc run op/axpy/fp32/257/normal --backend exact"
                                      " --backend 'pipe:./program 1,2' --backend host");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "3 results"), "%s", ran->out);
    expect_refusal("$hc run op/axpy/fp32/257/normal --backend pipe:./program"
                   " --backend 'pipe:./program 2'",
                   "calls itself program");
    expect_refusal("$hc run --backend pipe:./missing", "");
    expect_refusal("$hc run --backend pipe:./program --order theirs", "torch-fused");
    expect_refusal("$hc run --backend pipe:./program --fallback hots", "did you mean 'host'?");
}

Test(outside, a_fallback_runs_what_is_lacking_and_is_counted, .init = enter_with_program)
{
    const struct ran *ran = run_shell("$hc run op/axpy/fp32/257/normal op/add/fp32/257/normal"
                                      " --backend pipe:./program --fallback exact --json r.json");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "on exact: add "), "%s", ran->out);
    ran = run_shell(
        "grep -c '\"fallback\": \"exact: add ' r.json; grep -c '\"program+exact\"' r.json");
    cr_expect_eq(ran->status, 0, "%s", ran->out);
}

Test(outside, a_training_needs_a_fallback_for_a_program_with_one_op, .init = enter_with_program)
{
    static const char train[] = "$hc train --recipe fp32 --backend pipe:./program --network"
                                " darknet-tiny --images 20 --batch 20 --epochs 1 --out o";
    char command[512];
    expect_refusal(train, "program lacks ");
    expect_refusal(train, "--fallback exact has it");
    (void)snprintf(command, sizeof command, "%s --fallback host", train);
    const struct ran *ran = run_shell(command);
    cr_expect(ran->status == 0 || ran->status == 1, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "on host: "), "%s", ran->out);
    cr_expect_eq(run_shell("grep -q 'fallback host' o/run.json")->status, 0);
}

Test(outside, faults_planted_in_a_program_are_caught, .init = enter_with_program)
{
    const struct ran *ran = run_shell("$hc list faults | grep axpy | cut -f1 >names;"
                                      " $hc selftest $(cat names) --backend pipe:./program");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "planted faults caught"), "%s", ran->out);
}
