/* Runs of the whole program on programs behind a pipe. */
#include "cli/testing.h"

#include "kernels/pipe/testing.h"

static const char cases[] = "'op/add/fp32/*'";

static const struct ran *run_on(const char *program)
{
    char line[2048];
    (void)snprintf(line, sizeof line, "$hc run %s --call-limit 3 --backend 'pipe:%s %s'", cases,
                   HC_HOSTILE, program);
    return run_shell(line);
}

Test(pipe_run, a_program_that_is_missing_is_told_in_one_line, .init = enter_folder)
{
    expect_refusal("$hc run 'op/add/*' --backend 'pipe:no-such-program --fast'",
                   "pipe:no-such-program --fast: there is no such program");
    expect_refusal("$hc run 'op/add/*' --backend pipe-fd:77,78", "descriptor 77 cannot be read");
}

Test(pipe_run, a_right_program_passes, .init = enter_folder)
{
    const struct ran *ran = run_on("good");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

Test(pipe_run, a_program_that_dies_costs_a_case_and_the_others_pass, .init = enter_folder)
{
    static const char *const modes[] = {"signal 3", "exit 3", "hang 3", "short-exit 3", "print 3"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        const struct ran *ran = run_on(modes[i]);
        cr_expect_eq(ran->status, 2, "%s: %s%s", modes[i], ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, " ERROR"), "%s: %s", modes[i], ran->out);
        cr_expect_not_null(strstr(ran->out, "in call"), "%s: %s", modes[i], ran->out);
        cr_expect_not_null(strstr(ran->out, " PASS"), "%s: %s", modes[i], ran->out);
    }
}

Test(pipe_run, nan_in_every_byte_fails, .init = enter_folder)
{
    const struct ran *ran = run_on("nan 0");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "nan"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, " --call-limit 3"), "%s", ran->out);
    cr_expect_null(strstr(ran->out, "ERROR"), "%s", ran->out);
}

/* The second ctrl-C ends halfcheck at once, and the program, which hangs, with it; and so all that
   were started in its place. */
Test(pipe_run, ctrl_c_ends_the_program_too, .init = enter_folder)
{
    long group = 0;
    int groups = 0;
    const struct ran *ran =
        run_shell("$hc run 'op/add/fp32/*' --backend 'pipe:echo $$ >>group; " HC_HOSTILE
                  " hang 1' & run=$!; for i in $(seq 200); do [ -s group ] || sleep 0.1; done; "
                  "sleep 0.5; kill -INT $run; sleep 2.2; kill -INT $run; wait $run; echo $?");
    FILE *in = fopen("group", "r");
    cr_assert_not_null(in, "%s", ran->err);
    for (; fscanf(in, "%ld", &group) == 1; groups++)
        cr_expect(group > 0 && all_end(group), "%s%s", ran->out, ran->err);
    (void)fclose(in);
    cr_expect(groups > 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "130"), "%s%s", ran->out, ran->err);
}
