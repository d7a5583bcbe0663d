/* What `halfcheck run` says first and last, and how it fits terminals. */
#include "cli/testing_terminal.h"

static void init(void)
{
    static const char *const names[] = {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"};
    enter_folder();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]);
    (void)setenv("TERM", "xterm", 1);
}

static const char *last_line(const char *text)
{
    const char *last = text;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL && at[1]; at++)
        last = at + 1;
    return last;
}

Test(frame, begins_with_what_runs_and_ends_with_the_verdict, .init = init)
{
    const struct ran *ran = run_shell("$hc run eps --backend exact,host --seed 7 --level quick");
    static const char first[] =
        "checking eps on exact, host: up to 36 results, level quick, seed 7\n";
    cr_expect_eq(ran->status, 0);
    cr_expect_eq(strncmp(ran->out, first, sizeof first - 1), 0, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "\nnext: halfcheck explain "), "%s", ran->out);
    cr_expect_str_eq(last_line(ran->out), "PASS: 36 of 36 results are as claimed\n");
}

Test(frame, says_whose_sums_are_declared_to_be_coarse, .init = init)
{
    static const char line[] =
        "printf '%%s\\n' 'read hello' 'echo \"{\\\"pipe\\\": 1, \\\"name\\\": \\\"mine\\\", "
        "\\\"ops\\\": {\\\"add\\\": {}}, \\\"accumulator\\\": {\\\"precision\\\": %d}}\"' >p.sh; "
        "$hc run op/add/fp32/1/normal --backend 'pipe:sh p.sh'";
    for (int precision = 23; precision <= 24; precision++) {
        char text[512];
        (void)snprintf(text, sizeof text, line, precision);
        const struct ran *ran = run_shell(text);
        bool told = strstr(ran->out, "mine declares that it sums products in 23 bits, of which");
        cr_expect_eq(told, precision == 23, "%s%s", ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, "ERROR"), "%s%s", ran->out, ran->err);
    }
}

/* 16 terms are what units add at once. */
Test(frame, says_whose_blocks_are_declared_to_be_coarse, .init = init)
{
    static const char line[] =
        "printf '%%s\\n' 'read hello' 'echo \"{\\\"pipe\\\": 1, \\\"name\\\": \\\"mine\\\", "
        "\\\"ops\\\": {\\\"add\\\": {}}, \\\"accumulator\\\": {\\\"precision\\\": 24, "
        "\\\"block\\\": %d, \\\"truncates\\\": true}}\"' >p.sh; "
        "$hc run op/add/fp32/1/normal --backend 'pipe:sh p.sh'";
    static const int blocks[] = {16, 65536};
    for (int i = 0; i < 2; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, line, blocks[i]);
        const struct ran *ran = run_shell(text);
        bool told = strstr(ran->out, "mine declares blocks of 65536 terms, each of which may lose "
                                     "0.0078 of a sum: its bounds");
        cr_expect_eq(told, blocks[i] == 65536, "%s%s", ran->out, ran->err);
    }
}

Test(frame, says_fail_and_how_many, .init = init)
{
    const struct ran *ran =
        run_shell("row=$($hc list faults | awk -F'\t' '$4 ~ /^eps/ {print; exit}');"
                  " c=$(printf %s \"$row\" | cut -f4 | cut -d' ' -f1);"
                  " $hc run \"$c\" --fault $(printf %s \"$row\" | cut -f1)");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    cr_expect_eq(strncmp(last_line(ran->out), "FAIL: ", 6), 0, "%s", ran->out);
    cr_expect_not_null(strstr(last_line(ran->out), " results are not as claimed\n"));
    cr_expect_null(strstr(ran->out, "next: halfcheck explain"), "explain plants no fault");
}

Test(frame, says_error_where_too_little_was_checked, .init = init)
{
    const struct ran *ran = run_shell("$hc run --backend host --level exhaustive --verbose >said & "
                                      "while ! grep -q PASS said; do sleep 0.01; done; "
                                      "kill -INT $!; wait $!; s=$?; tail -1 said; exit $s");
    cr_expect_eq(ran->status, 2, "%s", ran->err);
    cr_expect_str_eq(ran->out, "ERROR: stopped before the end\n");
}

/* The line is there while the run goes on, which is quiet otherwise. */
Test(frame, the_first_line_is_in_a_pipe_at_once, .init = init)
{
    const struct ran *ran = run_shell(
        "mkfifo pipe; cat pipe >said & $hc run training op --level exhaustive --backend host >pipe "
        "& for i in $(seq 250); do grep -q . said 2>/dev/null && break; sleep 0.02; done; "
        "cat said; kill -KILL $!");
    cr_expect_not_null(strstr(ran->out, "checking training, op on host: up to "), "%s", ran->out);
    cr_expect_eq(lines_of(ran->out), 1, "%s", ran->out);
}

Test(frame, is_a_comment_in_tap, .init = init)
{
    const struct ran *ran = run_shell("$hc run rounding/after-one --backend exact --tap");
    static const char first[] = "TAP version 13\n# checking rounding/after-one on ";
    cr_expect_eq(strncmp(ran->out, first, sizeof first - 1), 0, "%s", ran->out);
    cr_expect_null(strstr(ran->out, "\nPASS"), "%s", ran->out);
}

/* The bytes of a pattern do not reach the terminal. */
Test(frame, shows_patterns_as_safe_text, .init = init)
{
    const struct ran *ran =
        run_shell("p=$(printf 'eps/*[s\\033]'); $hc run \"$p\" --level quick --backend exact");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_null(strchr(ran->out, '\033'), "%s", ran->out);
}

/* The columns of the widest line that was drawn over another; 0 if there is none. */
static int widest_progress(const char *bytes)
{
    static const char clear[] = "\r\033[K";
    int widest = 0;
    for (; (bytes = strstr(bytes, clear)) != NULL; bytes += sizeof clear - 1) {
        int length = (int)strcspn(bytes + sizeof clear - 1, "\r\n");
        widest = length > widest ? length : widest;
    }
    return widest;
}

Test(frame, progress_and_table_fit_the_terminal, .init = init)
{
    static const int columns[] = {40, 60, 80, 132};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct shown *shown = run_on_terminal(
            columns[i], "$hc run eps decay clipping --backend exact,host --json r.json");
        cr_expect_eq(shown->status, 0);
        int widest = widest_progress(shown->bytes);
        cr_expect_gt(widest, 20);
        cr_expect_lt(widest, columns[i], "%d columns: %s", columns[i], shown->bytes);
        const char *table = strstr(shown->bytes, "component");
        cr_assert_not_null(table, "%s", shown->bytes);
        char text[4096];
        (void)snprintf(text, sizeof text, "%.*s", (int)(strstr(table, "results in") - table),
                       table);
        cr_expect_leq(widest_line(text), columns[i], "%d columns: %s", columns[i], text);
    }
}

Test(frame, progress_follows_a_terminal_that_is_resized, .init = init)
{
    const struct shown *shown = run_on_resized_terminal(
        100, 40, "$hc run eps order decay underflow master --backend exact --json r.json");
    cr_expect_eq(shown->status, 0);
    cr_assert_gt(shown->resized, 0);
    const char *later = strchr(shown->bytes + shown->resized, '\r');
    later = later ? strchr(later + 1, '\r') : NULL;
    cr_assert_not_null(later, "%s", shown->bytes);
    cr_expect_gt(widest_progress(later), 20, "%s", later);
    cr_expect_lt(widest_progress(later), 40, "%s", later);
}

Test(frame, a_dumb_terminal_gets_no_progress_and_no_escape, .init = init)
{
    cr_expect_null(strchr(run_on_terminal(80, "TERM=dumb $hc run eps")->bytes, '\033'));
    cr_expect_null(strchr(run_on_terminal(80, "unset TERM; $hc run eps")->bytes, '\033'));
}

Test(frame, says_on_a_terminal_that_ctrl_c_was_heard, .init = init)
{
    const struct shown *shown = run_on_terminal(
        80, "$hc run --backend host --level exhaustive --verbose >said & "
            "while ! grep -q PASS said; do sleep 0.01; done; kill -INT $!; wait $!");
    cr_expect_eq(shown->status, 2);
    cr_expect_not_null(strstr(shown->bytes, "ending after what is at hand"), "%s", shown->bytes);
}
