#include "cli/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/testing_terminal.h"

static void init(void)
{
    static const char *const names[] = {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]);
    (void)setenv("TERM", "xterm", 1);
}

Test(colour, a_word_is_padded_without_counting_its_colour, .init = init)
{
    char text[64] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    (void)setenv("CLICOLOR_FORCE", "1", 1);
    cr_expect_eq(hc_colour_word(out, HC_COLOUR_FAIL, 6, "FAIL"), 6);
    cr_expect_eq(hc_colour_word(out, HC_PLAIN, 1, "a\033[0m"), 5, "hostile bytes become blanks");
    (void)fclose(out);
    cr_expect_str_eq(text, "\033[1;31mFAIL\033[0m  a [0m");
}

Test(terminal, progress_is_cut_to_the_width_that_it_has_now, .init = init)
{
    static const int columns[] = {30, 61};
    char name[64];
    char got[256];
    int terminal = open_terminal(100, name, sizeof name);
    FILE *out = fopen(name, "w");
    cr_assert_not_null(out);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        struct winsize window = {.ws_col = (unsigned short)columns[i], .ws_row = 24};
        cr_assert_eq(ioctl(terminal, TIOCSWINSZ, &window), 0);
        hc_terminal_redraw(out, "a line \033[2J of progress that is much longer than either of "
                                "the two terminals, \xc3\xa9\xc3\xa9\xc3\xa9");
        ssize_t length = read(terminal, got, sizeof got - 1);
        cr_assert_gt(length, 0);
        got[length] = '\0';
        cr_expect_eq(strncmp(got, "\r\033[Ka line  [2J of progress", 27), 0, "%s", got);
        cr_expect_eq(widest_line(got), columns[i] - 1, "%s", got);
    }
    (void)fclose(out);
    (void)close(terminal);
}
