#include "op/text.h"
#include "op/wrap.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* What comes of a text, character by character. */
static const char *cleaned(const char *text)
{
    static char all[256];
    char character[5];
    all[0] = '\0';
    while (hc_text_next(&text, character) > 0)
        (void)strcat(all, character);
    return all;
}

/* The sequences are those of RFC 3629, section 4, and Unicode 15, table 3-7. */
Test(text, what_is_no_utf_8_becomes_the_replacement_character)
{
    cr_expect_str_eq(cleaned("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"),
                     "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z");
    cr_expect_str_eq(cleaned("\xff."), "\xef\xbf\xbd.");
    cr_expect_str_eq(cleaned("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd", "an overlong slash");
    cr_expect_str_eq(cleaned("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
                     "a surrogate");
    cr_expect_str_eq(cleaned("\xf4\x90\x80\x80")[0] == '\xef' ? "no" : "yes", "no");
    cr_expect_str_eq(cleaned("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd", "cut short");
    cr_expect_str_eq(cleaned("\xef\xbf\xbf"), "\xef\xbf\xbd");
}

Test(text, control_characters_become_spaces)
{
    cr_expect_str_eq(cleaned("a\nb\tc\033[2J\x7f"), "a b c [2J ");
    cr_expect_str_eq(cleaned("\xc2\x85\xe2\x80\xa8"), "  ");
    cr_expect_str_eq(cleaned("a\xe2\x80\xae"
                             "b\xe2\x81\xa6"
                             "c\xe2\x81\xa9"),
                     "a b c ");
    cr_expect_str_eq(cleaned("\xe2\x80\xaf\xe2\x81\xaa"), "\xe2\x80\xaf\xe2\x81\xaa");
}

static const char *markup(const char *text)
{
    static char all[256];
    FILE *out = fmemopen(all, sizeof all, "w");
    hc_text_markup(out, text);
    (void)fputc('\0', out);
    (void)fclose(out);
    return all;
}

Test(text, markup_has_no_character_of_its_own_left)
{
    cr_expect_str_eq(markup("<a b=\"c\" d='e'>&amp;"),
                     "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
}

static const char *printed(const char *format, ...)
{
    static char text[4096];
    va_list arguments;
    va_start(arguments, format);
    cr_assert_geq(hc_text_format(text, sizeof text, format, arguments), 0);
    va_end(arguments);
    return text;
}

Test(text, a_nan_has_no_sign_and_its_column_keeps_its_width)
{
    double nan_with_sign = copysign((double)NAN, -1);
    cr_expect_str_eq(printed("%g", nan_with_sign), "nan");
    cr_expect_str_eq(printed("want %g, got %.3f", nan_with_sign, nan_with_sign),
                     "want nan, got nan");
    cr_expect_str_eq(printed("%8.2f|", nan_with_sign), "     nan|");
    cr_expect_str_eq(printed("%-8.2f|", nan_with_sign), "nan     |");
    cr_expect_str_eq(printed("%g,%g,", nan_with_sign, nan_with_sign), "nan,nan,");
    cr_expect_str_eq(printed("%+8.2f", nan_with_sign), "     nan");
    cr_expect_str_eq(printed("%s %g", "x-nan", -INFINITY), "x-nan -inf");
}

/* What the shell makes of the word is the text again, and nothing has run. */
Test(text, a_word_for_the_shell_is_read_back_by_it)
{
    static const char *const texts[] = {"/data/cifar-10", "",          "a b",        "it's",
                                        "`exit 3`",       "$(exit 3)", "; exit 3 #", "two\nlines",
                                        "\"$HOME\"",      "a\\",       "'",          "*"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char word[64];
        char line[128];
        char back[64] = "";
        cr_assert(hc_text_shell(word, sizeof word, texts[i]));
        (void)snprintf(line, sizeof line, "printf %%s %s", word);
        FILE *shell = popen(line, "r"); /* NOLINT(cert-env33-c): it is the shell that is asked */
        cr_assert_not_null(shell);
        back[fread(back, 1, sizeof back - 1, shell)] = '\0';
        cr_expect_eq(pclose(shell), 0, "%s", word);
        cr_expect_str_eq(back, texts[i]);
    }
    char little[8];
    cr_expect(!hc_text_shell(little, sizeof little, "it's longer"));
    cr_expect(hc_text_shell(little, sizeof little, "plain"));
    cr_expect_str_eq(little, "plain");
}

Test(text, a_long_line_is_printed_whole)
{
    static char word[5000];
    static char all[6000];
    memset(word, 'x', sizeof word - 1);
    FILE *out = fmemopen(all, sizeof all, "w");
    hc_print(out, "%s %g\n", word, copysign((double)NAN, -1));
    (void)fclose(out);
    cr_expect_eq(strlen(all), strlen(word) + 5);
    cr_expect_str_eq(all + strlen(word), " nan\n");
}

Test(text, a_line_has_no_newline_but_its_own)
{
    static char all[6000];
    static char word[3000];
    memset(word, '\033', sizeof word - 1);
    FILE *out = fmemopen(all, sizeof all, "w");
    hc_print_line(out, "%s: %d", "b\033[31m\nx", 7);
    hc_print_line(out, "%s|", word);
    (void)fclose(out);
    cr_expect_eq(strncmp(all, "b [31m x: 7\n", 12), 0, "%s", all);
    cr_expect_eq(strlen(all), 12 + strlen(word) + 2);
    cr_expect_null(strchr(all, '\033'));
}

/* U+20AC has three bytes, which are kept or left out together; a byte that is no UTF-8 becomes
   U+FFFD. */
Test(text, a_plain_line_is_cut_between_two_characters)
{
    char line[6];
    hc_text_plain(line, sizeof line, "");
    cr_expect_str_eq(line, "");
    hc_text_plain(line, sizeof line, "a\033b\xff");
    cr_expect_str_eq(line, "a b");
    hc_text_plain(line, sizeof line, "\xe2\x82\xacxyz");
    cr_expect_str_eq(line, "\xe2\x82\xacxy");
    hc_text_plain(line, sizeof line, "xyz\xe2\x82\xac");
    cr_expect_str_eq(line, "xyz");
    hc_text_plain(line, sizeof line, "x\xff");
    cr_expect_str_eq(line, "x\xef\xbf\xbd");
}

static const char *folded(int column, int indent, const char *command)
{
    static char all[1024];
    FILE *out = fmemopen(all, sizeof all, "w");
    (void)hc_print_command(out, column, indent, command);
    (void)fputc('\0', out);
    (void)fclose(out);
    return all;
}

#define TEN "123456789 "

/* Each line but the last has its backslash in column 80 or before. */
Test(text, a_command_of_more_than_80_columns_goes_on_behind_a_backslash)
{
    static const char whole[] = TEN TEN TEN TEN TEN TEN TEN "123456";
    cr_expect_str_eq(folded(4, 4, whole), whole, "80 columns are enough for all");
    cr_expect_str_eq(folded(4, 4, TEN TEN TEN TEN TEN TEN TEN "1234567"),
                     TEN TEN TEN TEN TEN TEN TEN "\\\n    1234567");
    cr_expect_str_eq(folded(0, 2, TEN TEN TEN TEN TEN TEN TEN "12345678 1"),
                     TEN TEN TEN TEN TEN TEN TEN "12345678 1");
    cr_expect_str_eq(folded(0, 2, TEN TEN TEN TEN TEN TEN TEN "12345678 1 " TEN),
                     TEN TEN TEN TEN TEN TEN TEN "12345678 \\\n  1 123456789");
}

Test(text, a_folded_command_keeps_quoted_words_and_an_option_with_its_value)
{
    cr_expect_str_eq(folded(0, 2, TEN TEN TEN TEN TEN TEN "--backend host"),
                     TEN TEN TEN TEN TEN TEN "--backend host");
    cr_expect_str_eq(folded(0, 2, TEN TEN TEN TEN TEN TEN "--backend 'a b c d' --strict"),
                     TEN TEN TEN TEN TEN TEN "\\\n  --backend 'a b c d' --strict");
    cr_expect_str_eq(folded(0, 2, TEN TEN TEN TEN TEN TEN TEN "'it'\\''s one word'"),
                     TEN TEN TEN TEN TEN TEN TEN "\\\n  'it'\\''s one word'");
    cr_expect_str_eq(folded(0, 2, "run a\033[2Jb"), "run a [2Jb", "nothing reaches a terminal");
}
