#include "formula/testing.h"

enum { COLUMNS = 80 };

/* The lines below the sentence. */
static void expect(const char *text, int at, int length, const char *want)
{
    char got[512];
    struct hc_formula_error error = {.text = text, .at = at, .length = length, .what = "why"};
    hc_formula_error_text(&error, got, sizeof got);
    cr_assert_eq(strncmp(got, "why\n", 4), 0);
    cr_expect_str_eq(got + 4, want, "want\n%s\ngot\n%s", want, got + 4);
}

Test(error_text, is_the_sentence_the_line_and_a_caret)
{
    expect("w = ww + 1", 4, 2, "  w = ww + 1\n      ^~");
    expect("w = 1 +", 7, 1, "  w = 1 +\n         ^");
    expect("", 0, 1, "  \n  ^");
}

Test(error_text, shows_one_line_of_many)
{
    expect("w = 1\nv = q\nu = 2", 10, 1, "  v = q\n      ^");
    expect("w = 1\nv = (q\n1)", 10, 6, "  v = (q\n      ^~");
    expect("w = 1\nv = \n", 10, 1, "  v = \n      ^");
}

Test(error_text, keeps_the_caret_below_its_place)
{
    expect("w\t= q", 4, 1, "  w = q\n      ^");
    expect("w = \xc3\xa4 + q", 9, 1, "  w = \xc3\xa4 + q\n          ^");
    expect("w = \xc3\xa4\xc3\xa4 + q", 4, 4, "  w = \xc3\xa4\xc3\xa4 + q\n      ^~");
    expect("w = \x1b[31m + q", 12, 1, "  w = ?[31m + q\n              ^");
    expect("w = \x7f\r\x01 + q", 10, 1, "  w = ??? + q\n            ^");
    expect("w = \xff + q", 8, 1, "  w = \xef\xbf\xbd + q\n          ^");
    expect("w = \xc2\x9b + q", 9, 1, "  w = ? + q\n          ^");
}

/* A line of 300 characters, a digit in ten: wherever the place is, both lines fit the terminal, and
   the caret stands below the place. */
Test(error_text, cuts_a_long_line_around_the_place)
{
    char text[301] = "";
    for (int i = 0; i < 300; i++)
        text[i] = (char)(i % 10 ? 'a' + i % 10 : '0' + i / 10 % 10);
    for (int at = 0; at <= 300; at++)
        for (int length = 1; length < 300; length += 49) {
            char got[512];
            struct hc_formula_error error = {.text = text, .at = at, .length = length, .what = "w"};
            hc_formula_error_text(&error, got, sizeof got);
            char *line = got + 2;
            char *below = strchr(line, '\n') + 1;
            int caret = (int)strspn(below, " ");
            cr_assert_eq(below - 1 - line, COLUMNS - 1, "%s", got);
            cr_assert_leq((int)strlen(below), COLUMNS, "%s", got);
            cr_assert_eq(below[caret], '^');
            cr_assert(at == 300 || line[caret] == text[at], "%d:\n%s", at, got);
            cr_assert_eq(strncmp(line + 2, at <= 38 ? text : "...", 3), 0, "%d:\n%s", at, got);
            cr_assert_eq(strncmp(below - 4, at > 260 ? text + 297 : "...", 3), 0, "%d:\n%s", at,
                         got);
        }
}

Test(error_text, wraps_a_long_sentence_between_words)
{
    char got[512];
    struct hc_formula_error error = {.text = "w", .length = 1};
    for (int i = 0; i < 14; i++)
        (void)strcat(error.what, "a sentence ");
    hc_formula_error_text(&error, got, sizeof got);
    int lines = 0;
    for (char *line = strtok(got, "\n"); line; line = strtok(NULL, "\n"), lines++)
        cr_expect_leq((int)strlen(line), COLUMNS, "%s", line);
    cr_expect_eq(lines, 4);
}

Test(error_text, a_small_buffer_gets_the_beginning)
{
    struct hc_formula_error error = {
        .text = "w = q", .at = 4, .length = 1, .what = "there is no q"};
    char whole[128];
    char got[129];
    hc_formula_error_text(&error, whole, sizeof whole);
    for (size_t size = 1; size < sizeof whole; size++) {
        memset(got, 'x', sizeof got);
        hc_formula_error_text(&error, got, size);
        cr_assert_eq(strncmp(got, whole, size - 1), 0);
        cr_assert_lt(strlen(got), size);
        cr_assert_eq(got[size], 'x');
    }
    hc_formula_error_text(&error, got, 0);
}
