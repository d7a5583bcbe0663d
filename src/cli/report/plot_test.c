#include "cli/report/plot.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/halfcheck-plot-XXXXXX";

static void make(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void unmake(void)
{
    static const char *const names[] = {"out.csv", "picture.svg", "precious"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(names[i]);
    (void)rmdir(folder);
}

TestSuite(plot, .init = make, .fini = unmake);

static enum hc_status plot(const char *script)
{
    struct hc_plot_values *values = hc_plot_values();
    hc_plot_integer(values, "answer", 0, 42);
    return hc_plot(script, values, folder);
}

Test(plot, a_script_runs_in_the_folder_with_its_definitions)
{
    enum hc_status status = plot("set print 'out.csv'; print answer");
    char line[16] = "";
    if (status == HC_UNSUPPORTED)
        cr_skip_test("no gnuplot here");
    cr_assert_eq(status, HC_OK, "%s", hc_message());
    FILE *f = fopen("out.csv", "r");
    cr_assert_not_null(f);
    cr_assert_not_null(fgets(line, sizeof line, f));
    (void)fclose(f);
    cr_assert_str_eq(line, "42\n");
}

Test(plot, a_script_that_fails_says_why_in_one_line)
{
    enum hc_status status = plot("plot 'nothing.csv'");
    if (status == HC_UNSUPPORTED)
        cr_skip_test("no gnuplot here");
    cr_assert_eq(status, HC_IO);
    cr_assert_not_null(strstr(hc_message(), "gnuplot failed: "));
    cr_assert_null(strchr(hc_message(), '\n'));
    cr_assert_eq(hc_plot("print 1", hc_plot_values(), "/nonexistent"), HC_IO);
}

Test(plot, a_missing_gnuplot_is_told_from_a_failing_one)
{
    (void)setenv("PATH", "/nonexistent", 1);
    cr_assert_eq(plot("print 1"), HC_UNSUPPORTED);
    cr_assert_str_eq(hc_message(), "gnuplot is not installed");
}

static char read_back[4096];

/* Reads into read_back what gnuplot prints of the value `text`. */
static void read_from_gnuplot(struct hc_plot_values *values, const char *text)
{
    enum hc_status status = hc_plot("set print 'out.csv'; print text", values, folder);
    if (status == HC_UNSUPPORTED)
        cr_skip_test("no gnuplot here");
    cr_assert_eq(status, HC_OK, "%s: %s", text, hc_message());
    FILE *f = fopen("out.csv", "r");
    cr_assert_not_null(f);
    read_back[fread(read_back, 1, sizeof read_back - 1, f)] = '\0';
    (void)fclose(f);
}

/* What a script finds in a text that it is given. */
static const char *found_by_gnuplot(const char *text, int most)
{
    struct hc_plot_values *values = hc_plot_values();
    hc_plot_text(values, "text", 0, text, most);
    read_from_gnuplot(values, text);
    read_back[strcspn(read_back, "\n")] = '\0';
    return read_back;
}

Test(plot, a_text_arrives_as_it_was_and_runs_nothing)
{
    static const char *const texts[] = {"';system('touch pwned');a='",
                                        "\"; system(\"touch pwned\"); a = \"",
                                        "`touch pwned`",
                                        "$(touch pwned)",
                                        "@text",
                                        "%s%n",
                                        "a\\",
                                        "\\n \\047 \\",
                                        "{/Symbol a}",
                                        "# no",
                                        "0123\xc3\xa4"
                                        "4",
                                        "'1\"2"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect_str_eq(found_by_gnuplot(texts[i], 100), texts[i]);
    cr_expect_neq(access("pwned", F_OK), 0);
}

/* A folded text, with a bar between lines. */
static const char *folded(const char *text, int columns, int most)
{
    char *at = read_back;
    struct hc_plot_values *values = hc_plot_values();
    int lines = hc_plot_folded(values, "text", 0, text, columns, most);
    read_from_gnuplot(values, text);
    for (; (at = strchr(at, '\n')); *at = at[1] ? '|' : '\0')
        lines--;
    cr_expect_eq(lines, 0, "%s", text);
    return read_back;
}

Test(plot, a_folded_name_loses_its_middle_only_where_all_its_lines_are_full)
{
    cr_expect_str_eq(folded("op/attention_backward", 20, 6), "op/attention_|backward");
    cr_expect_str_eq(folded("op/attention_general_backward", 20, 6),
                     "op/attention_|general_backward");
    cr_expect_str_eq(folded("abcdefghijkl", 4, 3), "abcd|efgh|ijkl");
    cr_expect_str_eq(folded("abcdefghijklm", 4, 3), "abcd|ef\xe2\x80\xa6i|jklm");
    cr_expect_str_eq(folded("'%s' `ls`", 6, 2), "'%s' |`ls`");
    cr_expect_str_eq(folded("", 6, 2), "");
}

Test(plot, a_text_is_one_line_and_no_longer_than_it_may)
{
    cr_expect_str_eq(found_by_gnuplot("one\ntwo", 100), "one two");
    cr_expect_str_eq(found_by_gnuplot("abcdefghijkl", 12), "abcdefghijkl");
    cr_expect_str_eq(found_by_gnuplot("abcdefghijklm", 8), "abcd\xe2\x80\xa6klm");
}

static void expect_text(const char *path, const char *want)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    (void)fgets(got, sizeof got, f);
    (void)fclose(f);
    cr_expect_str_eq(got, want, "%s", path);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

#define BEGIN_PICTURE "set terminal svg; set output drawing . 'picture.svg'; plot x; "

Test(plot, a_picture_replaces_the_old_one_whole_or_not_at_all)
{
    write_text("picture.svg", "old");
    enum hc_status status = plot(BEGIN_PICTURE "plot 'nothing.csv'");
    if (status == HC_UNSUPPORTED)
        cr_skip_test("no gnuplot here");
    cr_expect_eq(status, HC_IO);
    expect_text("picture.svg", "old");
    cr_expect_eq(plot(BEGIN_PICTURE), HC_OK, "%s", hc_message());
    expect_text("picture.svg", "<?xml version=\"1.0\" encoding=\"utf-8\"  standalone=\"no\"?>\n");
}

Test(plot, a_picture_replaces_a_symbolic_link_and_does_not_follow_it)
{
    write_text("precious", "kept");
    cr_assert_eq(symlink("precious", "picture.svg"), 0);
    if (plot(BEGIN_PICTURE) == HC_UNSUPPORTED)
        cr_skip_test("no gnuplot here");
    expect_text("precious", "kept");
    cr_expect_lt(readlink("picture.svg", read_back, sizeof read_back), 0);
}
