/* How what `halfcheck run` says fits terminals. */
#include "cli/testing_terminal.h"

static void init(void)
{
    static const char *const names[] = {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"};
    enter_folder();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]);
    (void)setenv("TERM", "xterm", 1);
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
