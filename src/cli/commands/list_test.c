/* How lists look on a terminal. What a pipe gets is in tests/words/list.txt. */
#include "cli/testing_terminal.h"

TestSuite(list, .init = enter_folder);

Test(list, fits_eighty_columns_under_a_heading)
{
    static const char *const subjects[] = {"components", "backends", "ops",     "recipes",
                                           "scalers",    "formats",  "wrappers"};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "NO_COLOR=1 $hc list %s", subjects[i]);
        const struct shown *shown = run_on_terminal(80, line);
        cr_expect_eq(shown->status, 0);
        cr_expect_eq(strncmp(shown->bytes, "name", 4), 0, "%.80s", shown->bytes);
        cr_expect_null(strchr(shown->bytes, '\t'));
        cr_expect_null(strchr(shown->bytes, '\033'));
        for (const char *at = shown->bytes; *at; at += strspn(at, "\r\n")) {
            int length = (int)strcspn(at, "\r\n");
            cr_expect(length <= 80, "%.*s", length, at);
            at += length;
        }
    }
}

Test(list, says_numbers_of_formats_in_decimal)
{
    const char *shown = run_on_terminal(80, "NO_COLOR=1 $hc list formats | cat")->bytes;
    cr_expect(strstr(shown, "e4m3\t4\t-6\t8\t1\t448\t"), "%s", shown);
    shown = run_on_terminal(80, "NO_COLOR=1 $hc list formats")->bytes;
    cr_expect(strstr(shown, "65504"), "%s", shown);
    cr_expect_null(strstr(shown, "0x"), "%s", shown);
}

Test(list, cuts_no_name_on_a_narrow_terminal)
{
    const char *shown = run_on_terminal(40, "NO_COLOR=1 $hc list faults")->bytes;
    cr_expect(strstr(shown, "\ncast-ties-toward-zero"), "%.300s", shown);
    cr_expect(strstr(run_on_terminal(20, "NO_COLOR=1 $hc list cases")->bytes,
                     "\nbatchnorm/count-beyond-half\r\n"));
}
