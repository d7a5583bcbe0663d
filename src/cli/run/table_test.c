/* Lines of progress in a file, which come after an interval. */
#include "cli/run/table.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "check/timing.h"

/* How many lines stderr gets of these starts of cases, with a printed row after each. */
static int lines_of(struct hc_table *table, int starts)
{
    struct hc_row row = {
        .name = "op/add/fp32", .backend = "exact", .verdict = HC_FAIL, .note = "", .repro = ""};
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    int lines = 0;
    cr_assert(file && before >= 0);
    (void)fflush(stderr);
    (void)dup2(fileno(file), STDERR_FILENO);
    for (int i = 0; i < starts; i++) {
        hc_table_starting(table, row.name, row.backend);
        hc_table_row(table, &row);
    }
    (void)fflush(stderr);
    (void)dup2(before, STDERR_FILENO);
    (void)close(before);
    rewind(file);
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    (void)fclose(file);
    return lines;
}

Test(table, a_line_of_progress_comes_once_in_an_interval_whatever_rows_are_printed)
{
    struct hc_table table = {.out = tmpfile(), .verbose = true, .every = 3600, .length = 5};
    cr_assert_not_null(table.out);
    table.started = hc_clock() - 1;
    int got = lines_of(&table, 5);
    cr_expect_eq(got, 0, "want no line before the interval is over, got %d", got);
    table.started = hc_clock() - 4000;
    got = lines_of(&table, 5);
    cr_expect_eq(got, 1, "want 1 line, got %d", got);
    table.every = 0;
    got = lines_of(&table, 5);
    cr_expect_eq(got, 5, "want a line for each case, got %d", got);
    (void)fclose(table.out);
}
