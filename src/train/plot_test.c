#include "train/plot.h"

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
    (void)unlink("script.gp");
    (void)unlink("out.csv");
    (void)rmdir(folder);
}

TestSuite(plot, .init = make, .fini = unmake);

static enum hc_status plot(const char *script)
{
    FILE *f = fopen("script.gp", "w");
    (void)fputs(script, f);
    (void)fclose(f);
    return hc_plot("script.gp", "answer = 42", folder);
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
    cr_assert_eq(hc_plot("script.gp", "", "/nonexistent"), HC_IO);
}

Test(plot, a_missing_gnuplot_is_told_from_a_failing_one)
{
    (void)setenv("PATH", "/nonexistent", 1);
    cr_assert_eq(plot("print 1"), HC_UNSUPPORTED);
    cr_assert_str_eq(hc_message(), "gnuplot is not installed");
}
